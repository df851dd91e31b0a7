// SPDX-License-Identifier: Apache-2.0
// A collective in four phases, so that other work fits between them: init, commit (post one
// round, non-blocking), wait (drain it), finalize.
#pragma once

#include "comm/team_barrier.h"
#include "machine/core.h"
#include "plan/comm_plan.h"

namespace tandem {

// Which barriers a phase runs. Puts meet the other ranks first, then the own cores: at init ("I
// am about to write") and in wait. Gets meet the own cores first, then the ranks: in commit ("my
// slot is filled") and in finalize. Of several objects on one barrier exactly one enables it.
enum class BarrierMode : std::uint8_t { none = 0, device = 1, core = 2, both = 3 };

class CollectiveComm {
 public:
  // `job` of `jobs` serves targets_of_job(); the object is idle on cores with no job.
  CollectiveComm(VectorCore& core, const CommPlan& plan, TeamBarrier& barrier, int jobs, int job);

  void init(BarrierMode mode);
  // Posts the transfers of the next round to or from the own targets.
  void commit(BarrierMode mode = BarrierMode::none);
  // Waits until everything posted so far is done, then runs the barriers of a put once.
  void wait(BarrierMode mode);
  void finalize(BarrierMode mode);

 private:
  void device_then_core(BarrierMode mode);
  void core_then_device(BarrierMode mode);

  VectorCore& core_;
  const CommPlan& plan_;
  TeamBarrier& barrier_;
  Slice targets_;
  bool idle_;
  int round_ = 0;
};

}  // namespace tandem
