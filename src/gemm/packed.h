// SPDX-License-Identifier: Apache-2.0
// What the packed operands of tile_product.h hold; layouts in kernels.h.
#pragma once

#include <cstdint>
#include <vector>

#include "gemm/aligned_buffer.h"
#include "gemm/simd/kernels.h"
#include "gemm/tile_product.h"

namespace tandem::gemm {

// One K segment of B.
struct WeightSegment {
  std::int64_t k = 0;
  // One of the two, none in weights for lane order alone. BF16 holds every decoded code exactly,
  // but for subnormals of FP32 below 2^-133.
  AlignedBuffer<std::uint32_t> pair_panels;
  AlignedBuffer<float> panels;
  // Of each 16 columns: 1: all are coarse (row_is_coarse), without an infinity or NaN of E5M2.
  std::vector<std::uint8_t> coarse;
  AlignedBuffer<std::uint8_t> codes;  // rows padded with zeros to whole cache lines
  AlignedBuffer<std::uint8_t> scales;
  MxMatrix canonical;                       // views the two
  std::vector<std::uint8_t> exact;          // 1: this column needs the exact path
  std::vector<std::int64_t> exact_columns;  // the same, as ascending indices

  bool has_pairs() const { return pair_panels.size() > 0; }
  std::int64_t panel_stride() const { return k * kPanelColumns; }
  std::int64_t pair_stride() const { return ceil_div(k, std::int64_t{2}) * kPanelColumns; }
  // Whether all columns of [first, first + count) may be multiplied as pairs.
  bool is_coarse(std::int64_t first, std::int64_t count) const;
};

struct PackedWeights::Impl {
  std::int64_t columns = 0;
  std::vector<WeightSegment> segments;
};

struct PackedRows::Impl {
  std::int64_t rows = 0;
  std::int64_t k = 0;
  SumOrder order = SumOrder::panel;
  AlignedBuffer<float> blocks;         // one of the two, or both
  AlignedBuffer<std::uint32_t> pairs;  // if all rows are coarse
  bool has_blocks = false;
  bool has_pairs = false;
  std::vector<MxMatrix> parts;      // in the caller's memory, for the exact path and for `blocks`
  std::vector<std::uint8_t> exact;  // 1: this row needs the exact path
  std::int64_t exact_count = 0;

  std::int64_t k_blocks() const { return ceil_div(k, kBlock); }
  std::int64_t panel_stride() const { return k_blocks() * kPanelRows * kBlock; }
  std::int64_t pair_stride() const { return k_blocks() * kPanelRows * kBlockPairs; }
  std::int64_t even_groups() const { return round_up(ceil_div(k, kGroup), std::int64_t{2}); }
  std::int64_t padded_rows() const {
    return order == SumOrder::panel ? round_up(rows, kPanelRows) : rows;
  }
  void pack_blocks();
  void pack_pairs();
};

}  // namespace tandem::gemm
