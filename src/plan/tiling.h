// SPDX-License-Identifier: Apache-2.0
// Tiling of one product over the cube cores of a rank, and the order in which each core visits
// its tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "base/device.h"
#include "base/view.h"

namespace tandem {

// The result of the SWAT procedure (or of a device's fixed base block). Extents in elements.
struct Tiling {
  std::int64_t m = 0, n = 0, k = 0;  // the product it was made for
  std::int64_t base_m = 0, base_n = 0, base_k = 0;
  std::int64_t scale_k_l1 = 0;       // K extent of one load of scales into L1
  int m_tail_tile = 1, n_tail_tile = 1;              // parts of each tile of the last wave
  int m_base_tail_split = 1, n_base_tail_split = 1;  // edge blocks that share the remainder
  std::int64_t m_tail_main = 0, n_tail_main = 0;     // their extent
  int used_cores = 0;
  int step_k = 0;
  int buffers = 0;                   // of L1
  int l0c_buffers = 0;               // 2: double buffered

  friend bool operator==(const Tiling&, const Tiling&) = default;
};

enum class EdgeMerge : std::uint8_t { off, on };
enum class TailAlignment : std::uint8_t { off, on };

struct TilingRequest {
  std::int64_t m = 0, n = 0, k = 0;
  int cores = 0;
  bool trans_b = true;
  EdgeMerge edge_merge = EdgeMerge::on;          // all-gather: off
  TailAlignment tail_alignment = TailAlignment::off;  // all-gather: on
};

// m, n, k ≥ 1. With a fixed base block in `device` the rest is derived from it; otherwise SWAT.
Tiling make_tiling(const TilingRequest& request, const Device& device);

// One tile of a grid.
struct Tile {
  Slice rows;
  Slice columns;
  friend bool operator==(const Tile&, const Tile&) = default;
};

// The tiles of `rows × columns` that core `core` of `cores` visits, in order, with `window` block
// rows per scheduling window (1: rows ascend). Every element is in exactly one tile of one core.
// The edge blocks of `tiling` apply only where rows (columns) equal the extent it was made for.
std::vector<Tile> tiles_of_core(std::int64_t rows, std::int64_t columns, const Tiling& tiling,
                                int core, int cores, int window);

}  // namespace tandem
