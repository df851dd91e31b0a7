// SPDX-License-Identifier: Apache-2.0
// The planner: any problem on any device is refused with reasons or becomes a plan whose tiles
// cover each grid exactly, and whose rounds follow each other without a gap.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>
#include <vector>

#include "ops/registry.h"
#include "report/device_json.h"
#include "tandem/error.h"

namespace tandem {
namespace {

Problem draw(FuzzedDataProvider& data) {
  Problem problem;
  const auto word = [&]<typename E>(E& target) {
    target = data.PickValueInArray(kEnumNames<E>).first;
  };
  const auto extent = [&] { return data.ConsumeIntegralInRange<std::int64_t>(-1, 3000); };
  word(problem.op);
  problem.ranks = data.ConsumeIntegralInRange(-1, 66);
  problem.m = extent();
  problem.n = extent();
  problem.k = extent();
  problem.trans_a = data.ConsumeBool();
  problem.bias = data.ConsumeBool();
  problem.local_matmul = data.ConsumeIntegralInRange(-1, 3);
  if (data.ConsumeBool()) problem.tiles = data.ConsumeIntegralInRange(-1, 70);
  if (data.ConsumeBool()) problem.tile_rows = extent();
  problem.slots = data.ConsumeIntegralInRange(-1, 20);
  if (data.ConsumeBool()) problem.blocks = data.ConsumeIntegralInRange(-1, 70);
  word(problem.tail);
  word(problem.cores);
  word(problem.flags);
  word(problem.reduction);
  word(problem.product);
  word(problem.staging);
  word(problem.dtype_c);
  word(problem.transfer);
  return problem;
}

bool overlap(const Tile& a, const Tile& b) {
  return a.rows.first < b.rows.end() && b.rows.first < a.rows.end() &&
         a.columns.first < b.columns.end() && b.columns.first < a.columns.end();
}

// The tiles of all cores lie in the grid, don't overlap and fill it.
bool is_covered(const Grid& grid) {
  constexpr std::size_t kPairsOf = 400;  // beyond as many tiles pairs take too long
  std::vector<Tile> tiles;
  std::int64_t area = 0;
  for (const std::vector<Tile>& of_core : grid.tiles) {
    for (const Tile& tile : of_core) {
      if (tile.rows.first < 0 || tile.rows.end() > grid.rows || tile.rows.count < 1) return false;
      if (tile.columns.first < 0 || tile.columns.end() > grid.columns) return false;
      area += tile.rows.count * tile.columns.count;
      tiles.push_back(tile);
    }
  }
  if (tiles.size() <= kPairsOf) {
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (overlap(tiles[i], tiles[j])) return false;
      }
    }
  }
  return area == grid.rows * grid.columns;
}

void check(const Plan& plan) {
  if (plan.window_bytes < 0 || plan.staging_bytes < 0 || plan.blocks < 1) std::abort();
  for (const Grid& grid : plan.grids) {
    if (!is_covered(grid)) std::abort();
  }
  std::int64_t next = 0;
  for (const Slice& slice : plan.slices) {
    if (slice.first != next || slice.count < 1) std::abort();
    next = slice.end();
  }
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  static const tandem::Device devices[] = {tandem::load_device("host"),
                                           tandem::load_device("ascend950pr")};
  const tandem::Device& device = devices[data.ConsumeBool() ? 1 : 0];
  try {
    tandem::check(tandem::make_plan(tandem::draw(data), device));
  } catch (const tandem::Error& error) {
    if (error.kind() != tandem::ErrorKind::refused) std::abort();
  }
  return 0;
}
