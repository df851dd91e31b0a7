// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/matmul_all_gather/matmul_all_gather.h"
#include "plan/partition.h"

namespace tandem::matmul_all_gather {
namespace {

// Peers read slices of the own columns into pitched views of their C.
CommPlan columns_of_c(const Plan& plan) {
  const std::int64_t element = element_bytes(plan.problem.dtype_c);
  CommPlan comm{.hook = Hook::all_gather_get,
                .ranks = plan.ranks,
                .local = Buffer::c,
                .window = Buffer::window_data,
                .slices = plan.slices,
                .chunk_rows = {},
                .row_bytes = {},
                .local_row = {},
                .local_column = {},
                .local_pitch = {},
                .slots = std::max(1, plan.slots)};
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const Slice columns = plan.columns_of(rank);
    comm.chunk_rows.push_back(plan.problem.m);
    comm.row_bytes.push_back(columns.count * element);
    comm.local_row.push_back(0);
    comm.local_column.push_back(columns.first * element);
    comm.local_pitch.push_back(plan.problem.n * element);
  }
  return comm;
}

}  // namespace

void fill_plan(PlanBuilder& builder) {
  Plan& plan = builder.plan;
  const Problem& problem = builder.problem();
  check_device(builder);
  check_equal_parts(builder, "n", problem.n);
  make_rounds(builder, problem.m, 512, TailUse::stored_rows);
  make_slots(builder);

  TilingRequest request{.m = 1,
                        .n = std::max<std::int64_t>(1, plan.columns_of(0).count),
                        .k = std::max<std::int64_t>(1, problem.k),
                        .cores = std::max(1, plan.device.cores)};
  for (auto [rows, tiling] :
       {std::pair{problem.m, &plan.tiling_full},
        {plan.rounds() > 0 ? plan.slices.front().count : 1, &plan.tiling_head},
        {plan.rounds() > 0 ? plan.slices.back().count : 1, &plan.tiling_tail}}) {
    request.m = std::max<std::int64_t>(1, rows);
    *tiling = make_tiling(request, plan.device);
  }
  make_blocks(builder, CommBlocks::first);
  make_flags(builder, {.ready = {0}, .own = {}, .release = {1}},
             {.ready = {0, 11}, .own = {}, .release = {0, 11}});
  plan.comm = {columns_of_c(plan)};
  make_window(builder);
  for (int round = 0; round < plan.rounds(); ++round) {
    plan.regions.push_back({"round", round, RegionRanks::own, plan.slices[round]});
  }
  make_grids(builder, plan.device.shared_workers ? 1 : 4);
  finish_plan(builder, problem.m);
}

}  // namespace tandem::matmul_all_gather
