// SPDX-License-Identifier: Apache-2.0
#include "ops/common/lent_operands.h"

namespace tandem {

void lend_operands(VectorCore& core, const Plan& plan, TeamBarrier& barrier) {
  if (plan.rounds() == 0) return;
  barrier.cross_device();
  core.sync_all();
  core.set_flag(Pipe::mte3, FlagId{plan.flags.ready.at(0)});
  core.wait_flag(FlagId{plan.flags.release.at(0)});
  // Every cube core of the rank has read, not only the paired one.
  core.sync_all();
  barrier.cross_device();
}

void return_operands(CubeCore& core, const Plan& plan) {
  if (plan.rounds() > 0) core.set_flag(Pipe::mte2, FlagId{plan.flags.release.at(0)});
}

}  // namespace tandem
