// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/strings.h"
#include "plan/builder.h"

namespace tandem {
namespace {

bool separate_roles(const Plan& plan) {
  return plan.comm_blocks == CommBlocks::last && plan.problem.cores == CoreMapping::separate;
}

// Blocks on workers that they share: two at least, so that one block's product can run beside
// another's wait; separate roles get communicating blocks of their own.
void share_workers(PlanBuilder& builder) {
  Plan& plan = builder.plan;
  const int compute = std::max(2, plan.device.cores);
  const int comm = std::min(plan.ranks, compute);
  if (plan.problem.blocks) {
    plan.blocks = *plan.problem.blocks;
    plan.jobs =
        std::min(plan.ranks, separate_roles(plan) ? std::max(1, plan.blocks / 2) : plan.blocks);
  } else {
    plan.blocks = separate_roles(plan) ? compute + comm : compute;
    plan.jobs = comm;
  }
}

}  // namespace

void make_blocks(PlanBuilder& builder, CommBlocks comm_blocks) {
  Plan& plan = builder.plan;
  const DeviceRules& rules = plan.device.rules;
  plan.comm_blocks = comm_blocks;
  if (plan.device.shared_workers) {
    share_workers(builder);
  } else {
    plan.blocks = plan.problem.blocks.value_or(std::max(1, plan.tiling_full.used_cores));
    plan.jobs = std::min(plan.ranks, plan.blocks);
    if (plan.blocks > plan.device.cores) {
      builder.refuse(cat("--blocks ", plan.blocks, " exceeds the ", plan.device.cores, " cores"),
                     cat("use at most ", plan.device.cores));
    }
  }
  if (rules.blocks_at_least_ranks && plan.blocks < plan.ranks) {
    builder.refuse(cat("R ", plan.ranks, " exceeds the ", plan.blocks,
                       " blocks that the product uses: nobody would serve some peers"),
                   "use fewer ranks or a larger product");
  }
  // A device that does not need it lets block 0 reduce beside its job.
  if (separate_roles(plan) && rules.reduce_core_needed && plan.blocks - plan.jobs < 1) {
    builder.refuse(cat(plan.blocks, " blocks, ", plan.jobs, " of them communicate: none reduces"),
                   "use --cores shared, more blocks or fewer ranks");
  }
}

void make_flags(PlanBuilder& builder, const FlagPlan& counting, const FlagPlan& by_round) {
  FlagPlan& flags = builder.plan.flags;
  flags = builder.problem().flags == FlagNumbering::counting ? counting : by_round;
  flags.ready.slots = builder.plan.slots;
  flags.release.slots = builder.plan.slots;
  flags.lag = builder.plan.device.flag_depth;
  const int id_max = builder.device().rules.round_id_max;
  for (const FlagIds& ids : {flags.ready, flags.own, flags.release}) {
    if (ids.modulus == 1 || ids.first + ids.modulus - 1 <= id_max) continue;
    builder.refuse(cat("--flags round needs ids up to ", ids.first + ids.modulus - 1,
                       ", the device has ", id_max),
                   "use --flags counting");
    return;
  }
}

}  // namespace tandem
