// SPDX-License-Identifier: Apache-2.0
// The barriers among communicating vector cores: of the ranks (device) and of one rank (core).
#pragma once

#include <cstdint>

#include "machine/core.h"
#include "plan/plan.h"

namespace tandem {

// One per vector core and launch. A job stands for the peers of targets_of_job(): it is the one
// that drained its puts to them, so its arrival, stored in the word that only that peer polls,
// says exactly that this peer's data is complete.
class TeamBarrier {
 public:
  // `jobs` cores of each rank take part; a core with job ≥ jobs or < 0 passes through.
  TeamBarrier(VectorCore& core, int ranks, int jobs, int job, BarrierLayout layout);

  // Meets the jobs of the peers that serve this rank.
  void cross_device();
  // Meets the other jobs of this rank.
  void cross_core();

 private:
  bool takes_part() const { return job_ >= 0 && job_ < jobs_; }

  VectorCore& core_;
  int ranks_;
  int jobs_;
  int job_;
  BarrierLayout layout_;
  std::uint64_t device_count_ = 0;
  std::uint64_t core_count_ = 0;
};

}  // namespace tandem
