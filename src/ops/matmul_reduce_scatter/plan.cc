// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked.h"
#include "base/strings.h"
#include "ops/matmul_reduce_scatter/matmul_reduce_scatter.h"
#include "plan/partition.h"

namespace tandem::matmul_reduce_scatter {
namespace {

constexpr std::int64_t kHeadRows = 512;  // of an accelerator's slice, unless asked otherwise

// Rows of staging, segment by destination.
CommPlan partial_rows(const Plan& plan) {
  const auto ranks = static_cast<std::size_t>(plan.ranks);
  const std::int64_t row_bytes = plan.problem.n * element_bytes(plan.problem.staging);
  CommPlan comm{.hook = Hook::all_to_all_put,
                .ranks = plan.ranks,
                .local = Buffer::staging,
                .window = Buffer::window_data,
                .slices = plan.slices,
                .chunk_rows = {},
                .row_bytes = std::vector<std::int64_t>(ranks, row_bytes),
                .local_row = {},
                .local_column = std::vector<std::int64_t>(ranks, 0),
                .local_pitch = std::vector<std::int64_t>(ranks, row_bytes)};
  for (int rank = 0; rank < plan.ranks; ++rank) {
    comm.chunk_rows.push_back(plan.rows_of(rank).count);
    comm.local_row.push_back(plan.rows_of(rank).first);
  }
  return comm;
}

void make_tilings(Plan& plan) {
  const Problem& problem = plan.problem;
  TilingRequest request{.m = 1,
                        .n = std::max<std::int64_t>(1, problem.n),
                        .k = std::max<std::int64_t>(1, problem.k),
                        .cores = std::max(1, plan.device.cores)};
  const std::int64_t head = plan.rounds() > 0 ? plan.slices.front().count : 1;
  const std::int64_t tail = plan.rounds() > 0 ? plan.slices.back().count : 1;
  const std::int64_t pad = std::max<std::int64_t>(1, plan.padded_rows);
  request.m = std::max<std::int64_t>(1, problem.m);
  plan.tiling_full = make_tiling(request, plan.device);
  request.m = plan.ranks * round_up(head, pad);
  plan.tiling_head = make_tiling(request, plan.device);
  request.m = plan.ranks * round_up(tail, pad);
  plan.tiling_tail = make_tiling(request, plan.device);
}

}  // namespace

void fill_plan(PlanBuilder& builder) {
  Plan& plan = builder.plan;
  const Problem& problem = builder.problem();
  check_device(builder);
  check_equal_parts(builder, "m", problem.m);
  // Rounds come from the largest segment; shorter ones end earlier.
  make_rounds(builder, plan.rows_of(0).count, kHeadRows, TailUse::padded_rows);
  make_tilings(plan);

  make_blocks(builder, CommBlocks::last);
  make_flags(builder, {.ready = {0}, .own = {1}, .release = {2}},
             {.ready = {0, 5}, .own = {5, 5}, .release = {0, 5}});
  plan.comm = {partial_rows(plan)};
  const std::int64_t row_bytes = problem.n * element_bytes(problem.staging);
  plan.staging_bytes = multiply({problem.m, row_bytes});
  make_window(builder);
  for (int round = 0; round < plan.rounds(); ++round) {
    const std::int64_t rows = plan.slices[round].count;
    const std::int64_t padded = plan.padded_rows > 0 ? round_up(rows, plan.padded_rows) : 0;
    plan.regions.push_back({"round", round, RegionRanks::all, plan.slices[round], padded});
  }
  make_grids(builder, 1);
  make_reduction(builder);
  finish_plan(builder, problem.m);
}

}  // namespace tandem::matmul_reduce_scatter
