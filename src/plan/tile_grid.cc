// SPDX-License-Identifier: Apache-2.0
// The block scheduler: which tiles of a grid a core visits, and in which order.
#include <algorithm>

#include "base/check.h"
#include "base/checked.h"
#include "plan/tiling.h"

namespace tandem {
namespace {

// Blocks of one axis: all `base` long, but the last `edge_count` share the remainder.
class BlockAxis {
 public:
  BlockAxis(std::int64_t extent, std::int64_t base, int edge_count, std::int64_t edge_base)
      : extent_(extent), base_(base), edge_base_(edge_base), count_(ceil_div(extent, base)) {
    first_edge_ = edge_count > 1 ? count_ - edge_count : count_;
  }

  std::int64_t count() const { return count_; }

  Slice block(std::int64_t index) const {
    const std::int64_t edges_before = std::max<std::int64_t>(index - first_edge_, 0);
    const std::int64_t first = index * base_ - edges_before * (base_ - edge_base_);
    if (index == count_ - 1) return {first, extent_ - first};
    return {first, index < first_edge_ ? base_ : edge_base_};
  }

 private:
  std::int64_t extent_;
  std::int64_t base_;
  std::int64_t edge_base_;
  std::int64_t count_;
  std::int64_t first_edge_;
};

struct GridIndex {
  std::int64_t m = 0;
  std::int64_t n = 0;
};

// Within a window of block rows, rows run fastest, then columns, which turn round at the end of
// each window so that the next one starts with the columns just used. The last window takes the
// remaining rows, up to twice as many.
GridIndex grid_index(std::int64_t tile, std::int64_t m_count, std::int64_t n_count,
                     std::int64_t window) {
  const std::int64_t full_windows = m_count / window - 1;
  const std::int64_t last_window = m_count - full_windows * window;
  GridIndex index;
  std::int64_t row = tile / n_count / window;
  if (row < full_windows) {
    index = {row * window + tile % window, tile / window % n_count};
  } else {
    row = full_windows;
    const std::int64_t rest = tile - full_windows * window * n_count;
    index = {full_windows * window + rest % last_window, rest / last_window % n_count};
  }
  if (row % 2 == 1) index.n = n_count - 1 - index.n;
  return index;
}

// Part `index` of `count` parts of equal length; the last ones may be short or empty.
Slice part_of(const Slice& whole, std::int64_t index, std::int64_t count) {
  const std::int64_t length = ceil_div(whole.count, count);
  const std::int64_t first = std::min(index * length, whole.count);
  return {whole.first + first, std::min(length, whole.count - first)};
}

}  // namespace

std::vector<Tile> tiles_of_core(std::int64_t rows, std::int64_t columns, const Tiling& tiling,
                                int core, int cores, int window) {
  TANDEM_CHECK(core >= 0 && core < cores && window >= 1, "a core outside of the grid");
  if (rows == 0 || columns == 0) return {};
  const bool row_edges = rows == tiling.m;
  const bool column_edges = columns == tiling.n;
  const BlockAxis m(rows, tiling.base_m, row_edges ? tiling.m_base_tail_split : 1,
                    tiling.m_tail_main);
  const BlockAxis n(columns, tiling.base_n, column_edges ? tiling.n_base_tail_split : 1,
                    tiling.n_tail_main);
  const std::int64_t total = m.count() * n.count();
  const std::int64_t m_window = std::min<std::int64_t>(window, m.count());
  const auto tile_at = [&](std::int64_t tile) {
    const GridIndex index = grid_index(tile, m.count(), n.count(), m_window);
    return Tile{m.block(index.m), n.block(index.n)};
  };

  const std::int64_t waves = ceil_div(total, cores);
  const std::int64_t last_wave_tiles = total - (waves - 1) * cores;
  std::int64_t parts = std::int64_t{tiling.m_tail_tile} * tiling.n_tail_tile;
  if (last_wave_tiles * parts > cores) parts = 1;

  std::vector<Tile> tiles;
  for (std::int64_t wave = 0; wave < waves - 1; ++wave) {
    tiles.push_back(tile_at(core + wave * cores));
  }
  if (core >= last_wave_tiles * parts) return tiles;
  Tile tile = tile_at(core / parts + (waves - 1) * cores);
  if (parts > 1) {
    const std::int64_t part = core % parts;
    tile.rows = part_of(tile.rows, part % tiling.m_tail_tile, tiling.m_tail_tile);
    tile.columns = part_of(tile.columns, part / tiling.m_tail_tile, tiling.n_tail_tile);
  }
  if (tile.rows.count > 0 && tile.columns.count > 0) tiles.push_back(tile);
  return tiles;
}

}  // namespace tandem
