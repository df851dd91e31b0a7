// SPDX-License-Identifier: Apache-2.0
// The walk of panel order: blocks of rows, columns and k that keep the kernels' operands in cache.
// Block sizes move data, never bits.
#include "gemm/tile_product.h"

#include <algorithm>

#include "base/check.h"
#include "gemm/exact_elements.h"
#include "gemm/float_state.h"
#include "gemm/pacer.h"
#include "gemm/packed.h"
#include "gemm/product.h"
#include "gemm/simd/kernels.h"

namespace tandem::gemm {
namespace {

// 144 × 512 FP32 of A and 144 × 256 of the accumulators lie in L2, a block of B of 512 × 32 BF16 in
// L1. A depth of 256 stores and loads the accumulators once more: 1 % slower at k = 512.
constexpr std::int64_t kRowBlock = 144;
constexpr std::int64_t kColumnBlock = 256;
constexpr std::int64_t kDepthBlock = 512;
static_assert(kRowBlock % kPanelRows == 0 && kDepthBlock % kBlock == 0);

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
  static_assert(kPanelColumns * sizeof(float) == kLine);  // a k, or a pair, is a line
  const bool pairs = segment.has_pairs();
  const std::byte* panels = pairs ? reinterpret_cast<const std::byte*>(segment.pair_panels.data())
                                  : reinterpret_cast<const std::byte*>(segment.panels.data());
  const std::int64_t stride =
      (pairs ? segment.pair_stride() : segment.panel_stride()) / kPanelColumns * kLine;
  const std::int64_t lines = pairs ? ahead.depth / 2 : ahead.depth;
  const std::int64_t begin = from * lines / whole;
  const std::int64_t line = begin + (pairs ? ahead.k / 2 : ahead.k);
  const std::byte* first = panels + ahead.panel * stride + line * kLine;
  const std::byte* second = ahead.panels == 2 ? first + stride : first;
  return {first, second, to * lines / whole - begin};
}

// Rows [row, row_end) times one group of panels over the k's [k, k + depth).
void multiply_group(const Product& p, const PanelGroup& group, const Ahead& ahead, std::int64_t row,
                    std::int64_t row_end, std::int64_t k, std::int64_t depth) {
  const std::int64_t column = group.panel * kPanelColumns + group.begin - p.first;
  const std::int64_t row_panels = ceil_div(row_end - row, kPanelRows);
  const bool tall = group.whole() && group.panels == p.table.panels_max;
  const std::int64_t rows_max = (tall ? p.table.row_panels_max : 1) * kPanelRows;
  PanelStep step{.row_stride = p.pairs ? p.rows.pair_stride() : p.rows.panel_stride(),
                 .panels = group.panels,
                 .depth = depth,
                 .start = k == 0 ? p.start : Start::from_stored,
                 .pitch = p.accumulators.pitch};
  if (p.segment.has_pairs()) {
    step.panel_stride = p.segment.pair_stride();
    step.column_pairs =
        p.segment.pair_panels.data() + group.panel * step.panel_stride + k / 2 * kPanelColumns;
  } else {
    step.panel_stride = p.segment.panel_stride();
    step.columns = p.segment.panels.data() + group.panel * step.panel_stride + k * kPanelColumns;
  }
  const std::int64_t first_row = row;
  for (std::int64_t rows = 0; row < row_end; row += rows) {
    rows = row_end - row >= rows_max ? rows_max : std::min<std::int64_t>(kPanelRows, row_end - row);
    step.fetch =
        fetch_of(p.segment, ahead, row - first_row, row + rows - first_row, row_end - first_row);
    const std::int64_t panel = row / kPanelRows * step.row_stride;
    if (p.pairs) {
      step.row_pairs = p.rows.pairs.data() + panel + k / 2 * kPanelRows;
    } else {
      step.rows = p.rows.blocks.data() + panel + k * kPanelRows;
    }
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

bool has_tiny(const Product& p) {
  for (std::int64_t row = 0; row < p.rows.rows; ++row) {
    const float* sums = p.accumulators.values + row * p.accumulators.pitch;
    if (p.table.has_tiny(sums, p.count)) return true;
  }
  return false;
}

bool can_take_pairs(const Product& p, SumOrder order) {
  if (!p.table.multiplies_pairs || !p.rows.has_pairs) return false;
  if (!p.segment.is_coarse(p.first, p.count)) return false;
  // Lane order adds its own sums to what is stored, as FP32.
  if (order == SumOrder::lane) return true;
  return p.segment.has_pairs() && (p.start == Start::from_zero || !has_tiny(p));
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
  PackedRows::Impl& packed = rows.impl();
  const WeightSegment& columns = weights.impl().segments[static_cast<std::size_t>(segment)];
  TANDEM_CHECK(packed.rows == 0 || packed.k == columns.k, "the operands of a product differ in k");
  TANDEM_CHECK(packed.rows == 0 || packed.order == order, "rows packed for another order");
  if (packed.rows == 0 || count == 0) return;
  TANDEM_CHECK(
      order == SumOrder::lane || columns.k == 0 || columns.has_pairs() || columns.panels.size() > 0,
      "weights for lane order in a product in panel order");

  FloatState state;
  Pacer pacer(pause, state);
  Product product{kernels(), packed, columns, first, count, start, accumulators, pacer};
  if (columns.k == 0) {
    if (start == Start::from_zero) write_zeros(product);
    return;
  }
  ExactElements exact(packed, columns, first, count, start, accumulators);
  if (!exact.covers_all()) {
    product.pairs = can_take_pairs(product, order);
    if (!product.pairs && !packed.has_blocks) packed.pack_blocks();
    if (order == SumOrder::panel) {
      multiply_panels(product);
    } else {
      multiply_lanes(product);
    }
  }
  exact.finish(pacer);
}

}  // namespace tandem::gemm
