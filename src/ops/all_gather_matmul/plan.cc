// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked.h"
#include "ops/all_gather_matmul/all_gather_matmul.h"
#include "plan/partition.h"

namespace tandem::all_gather_matmul {
namespace {

CommPlan rows_of_a(const Plan& plan, Buffer local, Buffer window, std::int64_t row_bytes,
                   int slots) {
  const auto ranks = static_cast<std::size_t>(plan.ranks);
  return {.hook = Hook::all_gather_put,
          .ranks = plan.ranks,
          .local = local,
          .window = window,
          .slices = plan.slices,
          .chunk_rows = std::vector<std::int64_t>(ranks, plan.problem.m),
          .row_bytes = std::vector<std::int64_t>(ranks, row_bytes),
          .local_row = std::vector<std::int64_t>(ranks, 0),
          .local_column = std::vector<std::int64_t>(ranks, 0),
          .local_pitch = std::vector<std::int64_t>(ranks, row_bytes),
          .slots = slots};
}

bool has_tail(const Plan& plan) {
  return plan.device.rounds == RoundsRule::heads_tail && plan.rounds() > 1 &&
         plan.slices.back().count != plan.slices.front().count;
}

// One round whose rows of all ranks fit one tile. Its product is bound by the weights' bytes:
// reading them once for all rows saves more time than a product of the own rows could hide of so
// small a transfer.
bool gathers_first(const Plan& plan) {
  return plan.device.shared_workers && plan.rounds() == 1 &&
         multiply({plan.ranks, plan.problem.m}) <= plan.device.base_m;
}

// An accelerator multiplies the tails of all ranks together, padded to whole cube blocks, after
// everything else. Elsewhere every own row is ready at once and every round is alike.
void make_regions(Plan& plan) {
  if (gathers_first(plan)) {
    plan.regions.push_back({"all", 0, RegionRanks::all, plan.slices.front()});
    return;
  }
  const bool with_tail = has_tail(plan);
  const int heads = with_tail ? plan.rounds() - 1 : plan.rounds();
  const std::int64_t head_rows = with_tail ? plan.slices.back().first : plan.problem.m;
  plan.regions.push_back({"head", -1, RegionRanks::own, {0, head_rows}});
  for (int round = 0; round < heads; ++round) {
    plan.regions.push_back({"main", round, RegionRanks::remote, plan.slices[round]});
  }
  if (with_tail) {
    const std::int64_t padded = round_up(plan.slices.back().count, 16);
    plan.regions.push_back({"tail", heads, RegionRanks::all, plan.slices.back(), padded});
  }
}

}  // namespace

void fill_plan(PlanBuilder& builder) {
  Plan& plan = builder.plan;
  const Problem& problem = builder.problem();
  check_device(builder);
  make_rounds(builder, problem.m, 512, TailUse::any_rows);
  make_slots(builder);
  const int ring_slots = plan.slots < plan.rounds() ? plan.slots : 0;

  // Of the grid: a tail counts padded.
  const std::int64_t tail = has_tail(plan) ? plan.slices.back().count : 0;
  const std::int64_t rows = problem.m - tail + round_up(tail, 16);
  const TilingRequest request{.m = std::max<std::int64_t>(1, plan.ranks * rows),
                              .n = std::max<std::int64_t>(1, problem.n),
                              .k = std::max<std::int64_t>(1, problem.k),
                              .cores = std::max(1, plan.device.cores),
                              .trans_b = true,
                              .edge_merge = EdgeMerge::off,
                              .tail_alignment = TailAlignment::on};
  plan.tiling_full = plan.tiling_head = plan.tiling_tail = make_tiling(request, plan.device);

  make_blocks(builder, CommBlocks::first);
  plan.slots = ring_slots;
  make_flags(builder, {.ready = {0}, .own = {0}, .release = {1}},
             {.ready = {1, 10}, .own = {0}, .release = {1, 10}});
  plan.comm = {
      rows_of_a(plan, Buffer::a, Buffer::window_data, problem.k, ring_slots),
      rows_of_a(plan, Buffer::a_scale, Buffer::window_scale, scale_row_bytes(problem.k), 0)};
  make_window(builder);
  make_regions(plan);
  make_grids(builder, 1);
  finish_plan(builder, plan.ranks * problem.m);
}

}  // namespace tandem::all_gather_matmul
