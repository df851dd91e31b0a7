// SPDX-License-Identifier: Apache-2.0
// The walk over a tile: blocks of rows, columns and k that keep the kernels' operands in cache.
// Block sizes move data, never bits.
#include "gemm/tile_product.h"

#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "gemm/exact_elements.h"
#include "gemm/float_state.h"
#include "gemm/kernels.h"
#include "gemm/pacer.h"
#include "gemm/packed.h"

namespace tandem::gemm {
namespace {

// 144 × 512 FP32 of A and 144 × 256 of the accumulators lie in L2, a block of B of 512 × 32 BF16 in
// L1. A depth of 256 stores and loads the accumulators once more: 1 % slower at k = 512.
constexpr std::int64_t kRowBlock = 144;
constexpr std::int64_t kColumnBlock = 256;
constexpr std::int64_t kDepthBlock = 512;
static_assert(kRowBlock % kPanelRows == 0 && kDepthBlock % kBlock == 0);

struct Product {
  const Kernels& table;
  const PackedRows::Impl& rows;
  const WeightSegment& segment;
  std::int64_t first;
  std::int64_t count;
  Start start;
  Accumulators accumulators;
  Pacer& pacer;
};

// Columns [begin, end) of B, all of one or two neighbouring panels, counted from the first column
// of the first panel.
struct PanelGroup {
  std::int64_t panel = 0;
  int panels = 1;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool whole() const { return begin == 0 && end == panels * kPanelColumns; }
};

// The group that begins at column `column`, with nothing at or beyond column `limit`.
PanelGroup group_at(std::int64_t column, std::int64_t limit, int panels_max) {
  PanelGroup group{.panel = column / kPanelColumns};
  const std::int64_t origin = group.panel * kPanelColumns;
  group.panels =
      static_cast<int>(std::min<std::int64_t>(panels_max, ceil_div(limit - origin, kPanelColumns)));
  group.begin = column - origin;
  group.end = std::min(limit - origin, group.panels * kPanelColumns);
  return group;
}

// A step whose panels of B stick out of the tile: computed aside, the tile's elements copied.
void edge_step(const Product& p, PanelStep step, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kPitch = 2 * kPanelColumns;
  alignas(kCacheLine) float aside[kPanelRows * kPitch] = {};
  float* sums = step.sums;
  step.sums = aside;
  step.pitch = kPitch;
  if (step.start == Start::from_stored) {
    for (std::int64_t row = 0; row < step.row_count; ++row) {
      std::copy_n(sums + row * p.accumulators.pitch, end - begin, aside + row * kPitch + begin);
    }
  }
  p.table.panel_step(step);
  for (std::int64_t row = 0; row < step.row_count; ++row) {
    std::copy_n(aside + row * kPitch + begin, end - begin, sums + row * p.accumulators.pitch);
  }
}

// What the next step will read of B.
struct Ahead {
  std::int64_t panel = 0;
  int panels = 0;  // 0: nothing follows
  std::int64_t k = 0;
  std::int64_t depth = 0;
};

// The part [from, to) of `whole` of it.
Fetch fetch_of(const WeightSegment& segment, const Ahead& ahead, std::int64_t from, std::int64_t to,
               std::int64_t whole) {
  if (ahead.panels == 0) return {};
  constexpr auto kLine = static_cast<std::int64_t>(kCacheLine);
  const bool bf16 = segment.has_bf16_panels();
  const std::int64_t size = bf16 ? sizeof(std::uint16_t) : sizeof(float);
  const std::byte* panels = bf16 ? reinterpret_cast<const std::byte*>(segment.bf16_panels.data())
                                 : reinterpret_cast<const std::byte*>(segment.panels.data());
  const std::int64_t lines = ahead.depth * kPanelColumns * size / kLine;
  const std::int64_t begin = from * lines / whole;
  const std::int64_t element = ahead.panel * segment.panel_stride() + ahead.k * kPanelColumns;
  const std::byte* first = panels + element * size + begin * kLine;
  const std::byte* second = ahead.panels == 2 ? first + segment.panel_stride() * size : first;
  return {first, second, to * lines / whole - begin};
}

// Rows [row, row_end) times one group of panels over the k's [k, k + depth).
void multiply_group(const Product& p, const PanelGroup& group, const Ahead& ahead, std::int64_t row,
                    std::int64_t row_end, std::int64_t k, std::int64_t depth) {
  const std::int64_t column = group.panel * kPanelColumns + group.begin - p.first;
  const std::int64_t row_panels = ceil_div(row_end - row, kPanelRows);
  const bool tall = group.whole() && group.panels == p.table.panels_max;
  const std::int64_t rows_max = (tall ? p.table.row_panels_max : 1) * kPanelRows;
  const std::int64_t element = group.panel * p.segment.panel_stride() + k * kPanelColumns;
  const bool bf16 = p.segment.has_bf16_panels();
  PanelStep step{.row_stride = p.rows.panel_stride(),
                 .columns = bf16 ? nullptr : p.segment.panels.data() + element,
                 .bf16_columns = bf16 ? p.segment.bf16_panels.data() + element : nullptr,
                 .panel_stride = p.segment.panel_stride(),
                 .panels = group.panels,
                 .depth = depth,
                 .start = k == 0 ? p.start : Start::from_stored,
                 .pitch = p.accumulators.pitch};
  const std::int64_t first_row = row;
  for (std::int64_t rows = 0; row < row_end; row += rows) {
    rows = row_end - row >= rows_max ? rows_max : std::min<std::int64_t>(kPanelRows, row_end - row);
    step.fetch =
        fetch_of(p.segment, ahead, row - first_row, row + rows - first_row, row_end - first_row);
    step.rows = p.rows.blocks.data() + row / kPanelRows * p.rows.panel_stride() + k * kPanelRows;
    step.sums = p.accumulators.values + row * p.accumulators.pitch + column;
    step.row_count = static_cast<int>(rows);
    if (group.whole()) {
      p.table.panel_step(step);
    } else {
      edge_step(p, step, group.begin, group.end);
    }
  }
  const std::int64_t flops = 2 * row_panels * kPanelRows * group.panels * kPanelColumns * depth;
  p.pacer.spend(flops * 1000 / p.table.flops_per_us);
}

// Rows [row, row_end) times columns [column, column_end) over all k.
void multiply_block(const Product& p, std::int64_t row, std::int64_t row_end, std::int64_t column,
                    std::int64_t column_end) {
  const auto depth_at = [&](std::int64_t k) { return std::min(kDepthBlock, p.segment.k - k); };
  for (std::int64_t k = 0; k < p.segment.k; k += kDepthBlock) {
    PanelGroup group = group_at(column, column_end, p.table.panels_max);
    for (;;) {
      const std::int64_t end = group.panel * kPanelColumns + group.end;
      const bool last = end == column_end;
      // Behind the last group of a block its first one follows, further down in k.
      const PanelGroup next = group_at(last ? column : end, column_end, p.table.panels_max);
      Ahead ahead{next.panel, next.panels, last ? k + kDepthBlock : k, 0};
      if (ahead.k < p.segment.k) {
        ahead.depth = depth_at(ahead.k);
      } else {
        ahead.panels = 0;
      }
      multiply_group(p, group, ahead, row, row_end, k, depth_at(k));
      if (last) break;
      group = next;
    }
  }
}

void multiply_panels(const Product& p) {
  const std::int64_t last = p.first + p.count;
  for (std::int64_t column = p.first; column < last;) {
    // Blocks after the first begin at a panel.
    const std::int64_t column_end =
        std::min(last, round_down(column + kColumnBlock, kPanelColumns));
    for (std::int64_t row = 0; row < p.rows.rows; row += kRowBlock) {
      multiply_block(p, row, std::min(row + kRowBlock, p.rows.rows), column, column_end);
    }
    column = column_end;
  }
}

// Lane order goes over up to 64 columns stretch by stretch of k: the rows of a stretch stay in L1,
// the columns' partial sums in L2.
constexpr std::int64_t kLaneBlock = 64;
constexpr std::int64_t kLanePairs = kLaneBlock / kLaneColumns;
// How far ahead codes are fetched: more than what memory delivers in its own latency.
constexpr std::int64_t kFetchAhead = 8192;

struct LaneWalk {
  const Product& p;
  std::int64_t row = 0;
  int row_count = 0;
  std::int64_t depth = 0;   // k's of a stretch
  std::int64_t column = 0;  // the block's first column, in the tile
  std::int64_t pairs = 0;   // of columns in the block
  std::int64_t stretches() const { return ceil_div(p.segment.k, depth); }
};

constexpr std::int64_t kSmallLevel1 = 32 * 1024;

// Bytes of this machine's L1.
std::int64_t level1_bytes() {
  static const std::int64_t bytes = [] {
    std::int64_t found = 0;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    found = sysconf(_SC_LEVEL1_DCACHE_SIZE);
#endif
    return found > 0 ? found : kSmallLevel1;
  }();
  return bytes;
}

// The rows take two thirds of L1.
std::int64_t lane_depth(const Product& p, int row_count) {
  const std::int64_t fits =
      level1_bytes() * 2 / 3 / static_cast<std::int64_t>(sizeof(float)) / row_count;
  const std::int64_t longest = std::clamp(round_down(fits, kGroup), kGroup, kLaneDepth);
  const std::int64_t stretches = ceil_div(p.segment.k, longest);
  return round_up(ceil_div(p.segment.k, stretches), kGroup);
}

// The codes that the walk reaches at its position `at`, beyond the block's last in the next block.
const std::uint8_t* lane_codes(const LaneWalk& walk, std::int64_t at, std::int64_t j) {
  const MxMatrix& b = walk.p.segment.canonical;
  const std::int64_t whole = walk.stretches() * walk.pairs;
  const std::int64_t column =
      walk.column + at / whole * kLaneBlock + at % whole % walk.pairs * kLaneColumns + j;
  const std::int64_t source = walk.p.first + column;
  return b.row(std::min(source, b.rows - 1)) + at % whole / walk.pairs * walk.depth;
}

void lane_stretch(const LaneWalk& walk, std::int64_t stretch, LanePartials* partials) {
  const Product& p = walk.p;
  const MxMatrix& b = p.segment.canonical;
  const std::int64_t k = stretch * walk.depth;
  LaneStep step{.rows = p.rows.blocks.data() + k * p.rows.rows + walk.row * kBlock,
                .block_stride = p.rows.rows * kBlock,
                .row_count = walk.row_count,
                .format = b.format,
                .fetch_into_l1 = level1_bytes() > kSmallLevel1,
                .k = std::min(walk.depth, b.k - k),
                .start = stretch == 0 ? Start::from_zero : Start::from_stored};
  const std::int64_t ahead = ceil_div(kFetchAhead, walk.depth * kLaneColumns);
  for (std::int64_t pair = 0; pair < walk.pairs; ++pair) {
    for (std::int64_t j = 0; j < kLaneColumns; ++j) {
      // An odd last column is computed twice.
      const std::int64_t column = std::min(walk.column + pair * kLaneColumns + j, p.count - 1);
      step.codes[j] = b.row(p.first + column) + k;
      step.scales[j] = b.scale_row(p.first + column) + k / kGroup;
      step.next_codes[j] = lane_codes(walk, stretch * walk.pairs + pair + ahead, j);
    }
    step.partials = partials + pair;
    p.table.lane_step(step);
    // Decoding costs as much as four rows.
    const std::int64_t flops = 2 * (walk.row_count + 4) * kLaneColumns * step.k;
    p.pacer.spend(flops * 1000 / p.table.lane_flops_per_us);
  }
}

void add_lane_sums(const LaneWalk& walk, const LanePartials* partials) {
  const Product& p = walk.p;
  for (std::int64_t pair = 0; pair < walk.pairs; ++pair) {
    LaneTotals totals;
    p.table.lane_sums(partials[pair], walk.row_count, totals);
    const std::int64_t column = walk.column + pair * kLaneColumns;
    const std::int64_t columns = std::min<std::int64_t>(kLaneColumns, p.count - column);
    for (int i = 0; i < walk.row_count; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        float& sum = p.accumulators.values[(walk.row + i) * p.accumulators.pitch + column + j];
        sum = (p.start == Start::from_zero ? 0.0f : sum) + totals[i][j];
      }
    }
  }
}

void multiply_lanes(const Product& p) {
  alignas(kCacheLine) LanePartials partials[kLanePairs];
  for (std::int64_t column = 0; column < p.count; column += kLaneBlock) {
    const std::int64_t columns = std::min(kLaneBlock, p.count - column);
    for (std::int64_t row = 0; row < p.rows.rows; row += kLaneRows) {
      LaneWalk walk{.p = p, .row = row, .column = column, .pairs = ceil_div(columns, kLaneColumns)};
      walk.row_count = static_cast<int>(std::min<std::int64_t>(kLaneRows, p.rows.rows - row));
      walk.depth = lane_depth(p, walk.row_count);
      for (std::int64_t stretch = 0; stretch < walk.stretches(); ++stretch) {
        lane_stretch(walk, stretch, partials);
      }
      add_lane_sums(walk, partials);
    }
  }
}

void write_zeros(const Product& p) {
  for (std::int64_t row = 0; row < p.rows.rows; ++row) {
    std::fill_n(p.accumulators.values + row * p.accumulators.pitch, p.count, 0.0f);
  }
}

}  // namespace

void multiply(const PackedRows& rows, const PackedWeights& weights, int segment, std::int64_t first,
              std::int64_t count, SumOrder order, Start start, Accumulators accumulators,
              const std::function<void()>& pause) {
  TANDEM_CHECK(segment >= 0 && segment < weights.segments(), "no such K segment of B");
  TANDEM_CHECK(first >= 0 && count >= 0 && first + count <= weights.columns(), "columns outside B");
  const PackedRows::Impl& packed = rows.impl();
  const WeightSegment& columns = weights.impl().segments[static_cast<std::size_t>(segment)];
  TANDEM_CHECK(packed.rows == 0 || packed.k == columns.k, "the operands of a product differ in k");
  TANDEM_CHECK(packed.rows == 0 || packed.order == order, "rows packed for another order");
  if (packed.rows == 0 || count == 0) return;
  TANDEM_CHECK(order == SumOrder::lane || columns.k == 0 || columns.has_bf16_panels() ||
                   columns.panels.size() > 0,
               "weights for lane order in a product in panel order");

  FloatState state;
  Pacer pacer(pause, state);
  const Product product{kernels(), packed, columns, first, count, start, accumulators, pacer};
  if (columns.k == 0) {
    if (start == Start::from_zero) write_zeros(product);
    return;
  }
  ExactElements exact(packed, columns, first, count, start, accumulators);
  if (!exact.covers_all()) {
    if (order == SumOrder::panel) {
      multiply_panels(product);
    } else {
      multiply_lanes(product);
    }
  }
  exact.finish(pacer);
}

}  // namespace tandem::gemm
