// SPDX-License-Identifier: Apache-2.0
// Windows, tile grids and the unified buffer of the reduction.
#include <algorithm>

#include "base/checked.h"
#include "base/strings.h"
#include "mx/matrix.h"
#include "plan/builder.h"
#include "plan/partition.h"

namespace tandem {
namespace {

constexpr std::int64_t kLine = 128;  // bytes of a cache line of the loads

// Planning keeps every tile in memory, so a grid has an end.
constexpr std::int64_t kTilesMax = std::int64_t{1} << 22;
constexpr std::int64_t kAlignment = 512;  // of window regions and UB buffers: a cache line group

std::int64_t grid_rows(const Plan& plan, const Region& region) {
  switch (region.ranks) {
    case RegionRanks::own:
      return region.rows.count;
    case RegionRanks::remote:
      return (plan.ranks - 1) * region.rows.count;
    case RegionRanks::all:
      break;
  }
  if (region.padded_rows > 0) return plan.ranks * region.padded_rows;
  if (plan.problem.op != OperatorKind::matmul_reduce_scatter) {
    return plan.ranks * region.rows.count;
  }
  std::int64_t rows = 0;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    rows += plan.comm[0].rows(rank, region.round).count;
  }
  return rows;
}

int find_grid(Plan& plan, std::int64_t rows, std::int64_t columns, const Tiling& tiling,
              int window) {
  for (std::size_t i = 0; i < plan.grids.size(); ++i) {
    if (plan.grids[i].rows == rows && plan.grids[i].columns == columns) return static_cast<int>(i);
  }
  Grid grid{rows, columns, {}};
  for (int core = 0; core < plan.blocks; ++core) {
    grid.tiles.push_back(tiles_of_core(rows, columns, tiling, core, plan.blocks, window));
  }
  plan.grids.push_back(std::move(grid));
  return static_cast<int>(plan.grids.size()) - 1;
}

UbBuffer& place(ReductionPlan& reduction, std::string_view name, std::int64_t bytes) {
  reduction.map.push_back({name, reduction.ub_bytes, bytes});
  reduction.ub_bytes += round_up(bytes, 64);
  return reduction.map.back();
}

// Columns of a pass over rows that are longer than the unified buffer, where a device moves at most
// `limit` rows in a strided copy: as many rows at once as make the fewest passes, since each pass
// synchronises. Passes of few rows come first: their copies are longer.
std::int64_t columns_of_long_rows(std::int64_t n, std::int64_t elements, std::int64_t share,
                                  std::int64_t limit) {
  std::int64_t best = elements;
  std::int64_t fewest = share * ceil_div(n, elements);
  for (std::int64_t batch = 2; batch <= std::min(share, limit); ++batch) {
    const std::int64_t columns = round_down(elements / batch, 16);
    if (columns == 0) break;
    const std::int64_t passes = ceil_div(share, batch) * ceil_div(n, columns);
    if (passes >= fewest) continue;
    fewest = passes;
    best = columns;
  }
  return best;
}

// Rows and columns of one pass of the reduction, which holds so many elements.
void choose_segments(Plan& plan, std::int64_t elements) {
  ReductionPlan& reduction = plan.reduction;
  const Problem& problem = plan.problem;
  const bool by_rows = problem.reduction == ReductionForm::rows || problem.ub == UbManagement::pipe;
  std::int64_t rows = 1;
  for (const Slice& slice : plan.slices) rows = std::max(rows, slice.count);
  const std::int64_t limit = plan.device.memory.strided_rows_max;
  std::int64_t columns = std::min(problem.n, elements);
  if (problem.n > elements && limit > 0 && !by_rows) {
    const std::int64_t share = ceil_div(rows, std::int64_t{reduction.cores});
    columns = columns_of_long_rows(problem.n, elements, share, limit);
  }
  reduction.segment_columns = std::max<std::int64_t>(1, columns);
  reduction.segments = ceil_div(problem.n, reduction.segment_columns);
  reduction.batch_rows = 1;
  if (by_rows) return;
  reduction.batch_rows = std::clamp<std::int64_t>(elements / reduction.segment_columns, 1, rows);
  if (reduction.segments > 1 && limit > 0) {
    reduction.batch_rows = std::min(reduction.batch_rows, limit);
  }
}

// The window holds what peers read in place: partial rows, or A with its scales behind it.
void lay_out_direct_window(Plan& plan) {
  if (plan.staging_bytes > 0) {
    plan.window_bytes = plan.staging_bytes;
    return;
  }
  std::int64_t codes = 0;
  std::int64_t scales = 0;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const std::int64_t k = plan.k_of(rank).count;
    codes = std::max(codes, multiply({plan.a_rows(rank), k}));
    scales = std::max(scales, multiply({plan.a_rows(rank), scale_row_bytes(k)}));
  }
  plan.window_scale_offset = round_up(codes, kAlignment);
  plan.window_bytes = plan.window_scale_offset + scales;
}

void lay_out_copy_window(Plan& plan) {
  for (CommPlan& comm : plan.comm) lay_out_window(comm);
  plan.window_scale_offset = round_up(plan.comm[0].window_bytes, kAlignment);
  plan.window_bytes = plan.comm.size() > 1 ? plan.window_scale_offset + plan.comm[1].window_bytes
                                           : plan.comm[0].window_bytes;
}

}  // namespace

void make_window(PlanBuilder& builder) {
  Plan& plan = builder.plan;
  if (plan.is_direct()) {
    lay_out_direct_window(plan);
  } else {
    lay_out_copy_window(plan);
  }
  const std::int64_t limit = plan.device.memory.window_bytes;
  if (limit > 0 && plan.window_bytes > limit) {
    builder.refuse(
        cat("the window needs ", plan.window_bytes, " bytes a rank, the device offers ", limit),
        "use a smaller shape, or --slots where the operator has a ring");
  }
}

void make_grids(PlanBuilder& builder, int window) {
  Plan& plan = builder.plan;
  plan.grid_ranks = plan.problem.op == OperatorKind::matmul_all_gather ? plan.ranks : 1;
  for (const Region& region : plan.regions) {
    const std::int64_t rows = grid_rows(plan, region);
    for (int rank = 0; rank < plan.grid_ranks; ++rank) {
      const std::int64_t columns = plan.columns_of(rank).count;
      const Tiling& tiling = plan.tiling_of_round(region.round);
      const std::int64_t tiles = ceil_div(rows, tiling.base_m) * ceil_div(columns, tiling.base_n);
      if (tiles > kTilesMax) {
        builder.refuse(cat("a round's product of ", rows, " x ", columns, " has ", tiles,
                           " tiles, more than ", kTilesMax),
                       "use a smaller shape or more rounds");
        return;
      }
      plan.grid_of_region.push_back(find_grid(plan, rows, columns, tiling, window));
    }
  }
}

void make_reduction(PlanBuilder& builder) {
  Plan& plan = builder.plan;
  ReductionPlan& reduction = plan.reduction;
  const Problem& problem = plan.problem;
  const bool separate = problem.cores == CoreMapping::separate;
  reduction.cores = std::max(1, separate ? plan.blocks - plan.jobs : plan.blocks);

  const std::int64_t staging = element_bytes(problem.staging);
  const std::int64_t out = element_bytes(problem.dtype_c);
  // Two source slots, two widened slots, the sum and the output.
  const std::int64_t element = 2 * staging + 2 * 4 + 4 + out;
  const std::int64_t guard =
      problem.ub == UbManagement::pipe ? std::int64_t{544} : plan.device.memory.ub_guard_bytes;
  const std::int64_t room = plan.device.memory.ub_bytes - round_up(guard, 64) - 6 * 64;
  const std::int64_t elements = std::max<std::int64_t>(16, round_down(room / element, 16));
  choose_segments(plan, elements);
  if (problem.ub == UbManagement::pipe && problem.reduction == ReductionForm::batched) {
    builder.note("--ub pipe moves one row per step: reduction by rows");
  }

  const std::int64_t cells = reduction.batch_rows * reduction.segment_columns;
  place(reduction, problem.ub == UbManagement::pipe ? "guard" : "communication", guard);
  for (int slot = 0; slot < 2; ++slot) {
    reduction.source_offset[slot] =
        place(reduction, slot == 0 ? "source 0" : "source 1", cells * staging).offset;
  }
  for (int slot = 0; slot < 2; ++slot) {
    reduction.wide_offset[slot] =
        place(reduction, slot == 0 ? "wide 0" : "wide 1", cells * 4).offset;
  }
  reduction.sum_offset = place(reduction, "sum", cells * 4).offset;
  reduction.out_offset = place(reduction, "out", cells * out).offset;
}

void finish_plan(PlanBuilder& builder, std::int64_t product_rows) {
  Plan& plan = builder.plan;
  plan.order = product_rows <= plan.device.rows_lane_max ? SumOrder::lane : SumOrder::panel;
  // A tile that covers all rows reads each byte of the weights once in a launch: whole lines of
  // them may pass the cache by.
  const bool gathers = plan.problem.op == OperatorKind::all_gather_matmul;
  plan.stream_rows = gathers ? multiply({plan.ranks, plan.problem.m}) : plan.problem.m;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    if (plan.k_of(rank).count % kLine != 0) plan.stream_rows = 0;
  }
  // One at the start, one a round, one a reused slot, one at the end.
  plan.epochs = 2 + 2 * static_cast<std::uint64_t>(plan.rounds());
  if (plan.problem.barrier == BarrierLayout::single_slot && plan.jobs > 1) {
    plan.unsound.push_back(
        cat("--barrier single-slot with ", plan.jobs,
            " jobs: any job's arrival releases the peers before the others have drained"));
  }
  // Risk hints, for devices whose links and queues are not this process's memory.
  if (plan.device.shared_workers) return;
  std::int64_t put_bytes = 0;
  for (const CommPlan& comm : plan.comm) {
    for (int round = 0; round < comm.rounds(); ++round) {
      put_bytes = std::max(put_bytes,
                           multiply({comm.slices[round].count, std::ranges::max(comm.row_bytes)}));
    }
  }
  if (put_bytes > 512 * 1024) {
    plan.warnings.push_back(
        cat("a single transfer moves ", put_bytes,
            " bytes; beyond 524288 check several rounds and repeated launches"));
  }
}

}  // namespace tandem
