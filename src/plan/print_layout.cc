// SPDX-License-Identifier: Apache-2.0
// Tiles, windows and the unified buffer of a printed plan.
#include <algorithm>

#include "base/strings.h"
#include "plan/print_parts.h"

namespace tandem {
namespace {

std::string times(std::int64_t a, std::int64_t b) { return cat(a, " x ", b); }

void add_tiling(TextTable& table, std::string_view name, const Tiling& tiling) {
  std::string edge = "no";
  if (tiling.m_base_tail_split > 1) {
    edge = cat("m ", times(tiling.m_base_tail_split, tiling.m_tail_main));
  }
  if (tiling.n_base_tail_split > 1) {
    edge = cat(edge == "no" ? "" : edge + ", ", "n ",
               times(tiling.n_base_tail_split, tiling.n_tail_main));
  }
  table.add({std::string(name), cat(times(tiling.m, tiling.n), " x ", tiling.k),
             cat(times(tiling.base_m, tiling.base_n), " x ", tiling.base_k),
             std::to_string(tiling.step_k), std::to_string(tiling.scale_k_l1),
             std::to_string(tiling.buffers), std::to_string(tiling.l0c_buffers),
             times(tiling.m_tail_tile, tiling.n_tail_tile), edge,
             std::to_string(tiling.used_cores)});
}

std::string_view ranks_text(const Plan& plan, RegionRanks ranks) {
  switch (ranks) {
    case RegionRanks::own:
      return "own";
    case RegionRanks::remote:
      return plan.ranks > 1 ? "others" : "none";
    case RegionRanks::all:
      return "all";
  }
  return "?";
}

std::string waits_for(const Region& region, const Plan& plan) {
  switch (plan.problem.op) {
    case OperatorKind::all_to_all_matmul:
    case OperatorKind::all_gather_matmul:
      return region.round < 0 ? "own flag" : cat("round ", region.round);
    case OperatorKind::matmul_all_gather:
    case OperatorKind::matmul_reduce_scatter:
      return "nothing";
  }
  return "?";
}

struct TileCounts {
  std::size_t all = 0, least = 0, most = 0;
};

TileCounts count_tiles(const Grid& grid) {
  TileCounts counts;
  for (const auto& tiles : grid.tiles) {
    counts.least = &tiles == &grid.tiles[0] ? tiles.size() : std::min(counts.least, tiles.size());
    counts.most = std::max(counts.most, tiles.size());
    counts.all += tiles.size();
  }
  return counts;
}

// Whether two neighbouring regions make one line.
bool alike(const Plan& plan, std::size_t a, std::size_t b) {
  for (int rank = 0; rank < plan.grid_ranks; ++rank) {
    if (plan.grid_of_region[a * plan.grid_ranks + rank] !=
        plan.grid_of_region[b * plan.grid_ranks + rank]) {
      return false;
    }
  }
  const Region& left = plan.regions[a];
  const Region& right = plan.regions[b];
  return left.name == right.name && left.rows.count == right.rows.count && left.round >= 0;
}

std::string print_lent_window(const Plan& plan) {
  TextTable table({"region", "offset", "bytes", "holds"});
  for (const WindowRegion& region : window_regions(plan)) {
    table.add({std::string(to_string(region.buffer)), std::to_string(region.offset),
               std::to_string(region.bytes),
               region.buffer == Buffer::staging ? "own partial rows" : "own rows"});
  }
  return cat("window of a rank: ", plan.window_bytes, " bytes that peers read where they lie\n",
             table.text());
}

}  // namespace

std::string print_tiles(const Plan& plan) {
  TextTable tilings({"tiling", "product m x n x k", "base m x n x k", "steps of k", "scale k in L1",
                     "L1 buffers", "L0C buffers", "tail parts", "shared edge", "cores"});
  add_tiling(tilings, "full", plan.tiling_full);
  if (plan.tiling_head != plan.tiling_full) add_tiling(tilings, "head", plan.tiling_head);
  if (plan.tiling_tail != plan.tiling_head) add_tiling(tilings, "tail", plan.tiling_tail);
  std::string text = cat("tiles, by ", to_string(plan.problem.product), "\n", tilings.text());
  if (plan.regions.empty()) return text;

  TextTable table({"region", "waits for", "rows of", "rows", "grid", "tiles", "per core"});
  for (std::size_t i = 0; i < plan.regions.size();) {
    std::size_t end = i + 1;
    while (end < plan.regions.size() && alike(plan, i, end)) ++end;
    const Region& region = plan.regions[i];
    const std::string last = end - i > 1 ? cat(" to ", plan.regions[end - 1].round) : "";
    const std::string round = region.round < 0 ? "" : cat(" ", region.round, last);
    const std::string wait = waits_for(region, plan);
    // Grids differ by rank where the columns do: one line for each kind of rank.
    for (int rank = 0; rank < plan.grid_ranks; ++rank) {
      const int grid_index = plan.grid_of_region[i * plan.grid_ranks + rank];
      if (rank > 0 && grid_index == plan.grid_of_region[i * plan.grid_ranks + rank - 1]) continue;
      const Grid& grid = plan.grids[grid_index];
      const TileCounts counts = count_tiles(grid);
      table.add({cat(region.name, round, rank > 0 ? cat(" from rank ", rank) : ""),
                 end - i > 1 && wait.starts_with("round") ? "its round" : wait,
                 std::string(ranks_text(plan, region.ranks)), std::to_string(region.rows.count),
                 times(grid.rows, grid.columns), std::to_string(counts.all),
                 counts.least == counts.most ? std::to_string(counts.most)
                                             : cat(counts.least, " to ", counts.most)});
    }
    i = end;
  }
  return text + table.text();
}

std::string print_window(const Plan& plan) {
  if (plan.is_direct()) return print_lent_window(plan);
  const CommPlan& comm = plan.comm[0];
  const std::string_view way = is_put(comm.hook) ? " from " : " to ";
  std::string text = cat("window of a rank: ", plan.window_bytes, " bytes, ", to_string(comm.hook),
                         way, to_string(comm.local), "\n");
  TextTable table({"region", "offset", "bytes", "ring slots", "places", "bytes each", "holds"});
  for (const WindowRegion& region : window_regions(plan)) {
    std::string holds =
        region.slots == 0 ? "the chunk of each source rank" : "a slice of each other rank";
    if (comm.hook == Hook::all_gather_get) holds = "a slice of the own product, for all";
    table.add({std::string(to_string(region.buffer)), std::to_string(region.offset),
               std::to_string(region.bytes),
               region.slots == 0 ? "no" : std::to_string(region.slots),
               std::to_string(region.parts), std::to_string(region.part_bytes), holds});
  }
  text += table.text();
  if (plan.staging_bytes > 0) {
    text += cat("staging: ", plan.staging_bytes, " bytes a rank, ", to_string(plan.problem.staging),
                "\n");
  }
  return text;
}

std::string print_reduction(const Plan& plan) {
  const ReductionPlan& reduction = plan.reduction;
  if (reduction.cores == 0) return "";
  std::string text =
      cat("reduction by ", reduction.cores, " vector cores, rows at once: ", reduction.batch_rows,
          ", segments: ", reduction.segments, " of ", reduction.segment_columns, " columns; ");
  text += cat(plan.problem.cores == CoreMapping::separate
                  ? "beside the next round's transfer"
                  : "after the round's transfer, by the same cores",
              "\n");
  TextTable table({"unified buffer", "offset", "bytes"});
  for (const UbBuffer& buffer : reduction.map) {
    table.add(
        {std::string(buffer.name), std::to_string(buffer.offset), std::to_string(buffer.bytes)});
  }
  return text + table.text();
}

}  // namespace tandem
