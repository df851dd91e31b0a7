// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked.h"
#include "ops/all_to_all_matmul/all_to_all_matmul.h"
#include "plan/partition.h"

namespace tandem::all_to_all_matmul {
namespace {

CommPlan rows_of_a(const Plan& plan, Buffer local, Buffer window, bool scales) {
  CommPlan comm{.hook = Hook::all_to_all_put,
                .ranks = plan.ranks,
                .local = local,
                .window = window,
                .slices = plan.slices,
                .chunk_rows = {},
                .row_bytes = {},
                .local_row = {},
                .local_column = {},
                .local_pitch = {}};
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const std::int64_t k = plan.k_of(rank).count;
    comm.row_bytes.push_back(scales ? scale_row_bytes(k) : k);
    comm.chunk_rows.push_back(plan.problem.m);
    comm.local_row.push_back(plan.rows_of(rank).first);
    comm.local_column.push_back(0);
  }
  comm.local_pitch = comm.row_bytes;
  return comm;
}

// The rows that one wave of all cores multiplies.
std::int64_t wave_rows(const Tiling& tiling, std::int64_t n) {
  const std::int64_t columns = std::max<std::int64_t>(1, ceil_div(n, tiling.base_n));
  return ceil_div(tiling.used_cores, columns) * tiling.base_m;
}

}  // namespace

void fill_plan(PlanBuilder& builder) {
  Plan& plan = builder.plan;
  const Problem& problem = builder.problem();
  check_device(builder);
  check_equal_parts(builder, "k", problem.k);

  const std::int64_t k = std::max<std::int64_t>(1, plan.k_of(0).count);
  TilingRequest request{.m = std::max<std::int64_t>(1, problem.m),
                        .n = std::max<std::int64_t>(1, problem.n),
                        .k = k,
                        .cores = std::max(1, plan.device.cores)};
  plan.tiling_full = make_tiling(request, plan.device);
  make_rounds(builder, problem.m, wave_rows(plan.tiling_full, problem.n), TailUse::any_rows);
  plan.tiling_head = plan.tiling_tail = plan.tiling_full;

  make_blocks(builder, CommBlocks::first);
  make_flags(builder, {.ready = {0}, .own = {}, .release = {1}},
             {.ready = {0, 11}, .own = {}, .release = {0, 11}});
  plan.comm = {rows_of_a(plan, Buffer::a, Buffer::window_data, false),
               rows_of_a(plan, Buffer::a_scale, Buffer::window_scale, true)};
  make_window(builder);
  for (int round = 0; round < plan.rounds(); ++round) {
    plan.regions.push_back({"round", round, RegionRanks::own, plan.slices[round]});
  }
  make_grids(builder, plan.device.shared_workers ? 1 : 4);
  finish_plan(builder, problem.m);
}

}  // namespace tandem::all_to_all_matmul
