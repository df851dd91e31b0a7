// SPDX-License-Identifier: Apache-2.0
// The inner loops, one table of functions per instruction set. All tables give the same bits and
// read the same layouts, so that operands packed by one can be multiplied by another.
//
// Layouts, k in blocks of 16 (kBlock):
//   rows of A, panel order   [panel of 6 rows][k / 16][6][16], or in pairs [6][8]
//   rows of A, lane order    [k / 16][rows][16], or as words [k / 32][rows][16], groups even
//   columns of B             [panel of 16 columns][k][16], as FP32 or codes
//                            or in pairs [panel of 16 columns][k / 2][16]
// A pair is two neighbouring k's as BF16 in one word, the first in its upper half; in lane order
// they are k and k + 16 of a group.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gemm/tile_product.h"
#include "mx/matrix.h"
#include "tandem/types.h"

namespace tandem::gemm {

inline constexpr std::int64_t kBlock = 16;  // k's of one row that lie together in A
inline constexpr int kPanelRows = 6;
inline constexpr std::int64_t kPanelColumns = 16;
inline constexpr std::int64_t kBlockPairs = kBlock / 2;
inline constexpr int kLaneRows = 8;  // rows and columns of one lane-order step
inline constexpr int kLaneColumns = 2;

// What a step fetches into the cache for a later one, spread over its own work: so many lines from
// each of two places.
struct Fetch {
  const std::byte* first = nullptr;
  const std::byte* second = nullptr;
  std::int64_t lines = 0;
};

// sums[row_count][columns] (+)= rows of one or two panels of A times one or two neighbouring panels
// of B.
struct PanelStep {
  const float* rows = nullptr;               // a panel of A, at a multiple of 16 in k
  const std::uint32_t* row_pairs = nullptr;  // in its place where Kernels::multiplies_pairs
  std::int64_t row_stride = 0;               // elements to the next panel of A
  int row_count = kPanelRows;      // the first 1 to 6 rows, or 12: two panels, where all are there
  const float* columns = nullptr;  // a panel of B, at the same k; 64-byte aligned
  const std::uint32_t* column_pairs = nullptr;  // in its place; row_pairs never go without
  std::int64_t panel_stride = 0;                // elements to the next panel of B
  int panels = 1;                               // of B: 1, or 2 where Kernels::panels_max allows
  std::int64_t depth = 0;                       // k's
  Start start = Start::from_zero;
  float* sums = nullptr;
  std::int64_t pitch = 0;
  Fetch fetch;
};

inline constexpr std::int64_t kLaneDepth = 4096;  // k's of a stretch, at most

// The 16 partial sums of each of a step's elements, and their totals.
using LanePartials = float[kLaneRows][kLaneColumns][kBlock];
using LaneTotals = float[kLaneRows][kLaneColumns];

// Two columns of B over a stretch of k's.
struct LanePair {
  const std::uint8_t* codes[kLaneColumns] = {};  // readable up to a multiple of 32
  const std::uint8_t* scales[kLaneColumns] = {};
  const std::uint8_t* next_codes[kLaneColumns] = {};  // of a later pair, to be fetched ahead
};

// Adds a stretch of k's of up to 8 rows of A and some pairs of columns of B to their partial sums
// in lane order. A stretch begins at a group.
struct LaneStep {
  const float* rows = nullptr;    // first of the rows, lane-order layout
  std::int64_t block_stride = 0;  // elements to the next 16 k's of A, or 32
  // In place of rows, where Kernels::multiplies_pairs; k is a multiple of 64 or ends the operands,
  // columns are coarse and without infinities.
  const std::uint32_t* row_pairs = nullptr;
  const std::uint8_t* code_bytes = nullptr;  // then: bf16_bytes_of(format)
  int row_count = 0;                         // 1..kLaneRows
  ElementFormat format = ElementFormat::e4m3;
  bool fetch_into_l1 = false;  // else into L2
  std::int64_t k = 0;          // up to kLaneDepth
  Start start = Start::from_zero;
  std::span<const LanePair> pairs;
  LanePartials* partials = nullptr;  // of each pair
};

// Up to 16 columns of B, transposed to one panel of codes and one of scales; missing columns are
// zero.
struct ColumnsToCodes {
  const std::uint8_t* codes[kPanelColumns] = {};  // readable up to a multiple of 16
  const std::uint8_t* scales[kPanelColumns] = {};
  int count = 0;
  std::int64_t k = 0;
  std::uint8_t* panel = nullptr;         // [k][16]
  std::uint8_t* panel_scales = nullptr;  // [group][16]
};

// A stretch of a panel of codes, decoded: from the first k of a group on.
struct CodesToPanel {
  ElementFormat format = ElementFormat::e4m3;
  const std::uint8_t* codes = nullptr;   // [k][16]
  const std::uint8_t* scales = nullptr;  // [group][16]
  std::int64_t depth = 0;
  float* panel = nullptr;  // [k][16], 64-byte aligned
};

// One row of A, decoded into blocks of 16 k's, `block_stride` elements apart; the last is filled
// up with zeros.
struct RowToBlocks {
  ElementFormat format = ElementFormat::e4m3;
  const std::uint8_t* codes = nullptr;
  const std::uint8_t* scales = nullptr;
  std::int64_t k = 0;
  float* blocks = nullptr;
  std::uint32_t* pairs = nullptr;        // in their place: 8 of each block, rounded towards zero
  std::uint32_t* group_pairs = nullptr;  // or 16 of each group, block_stride to the next
  std::int64_t block_stride = 0;
};

// destination[j] = round(rows[0][j] + rows[1][j] + …), summed in FP32 in this order.
struct RowsToSum {
  std::span<const void* const> rows;  // at least one
  OutputType from = OutputType::bf16;
  std::int64_t count = 0;
  OutputType to = OutputType::bf16;
  void* destination = nullptr;
};

inline constexpr float kTinySum = 0x1p-103f;  // the last bit of what is not smaller: 2^-126

struct Kernels {
  const char* name = nullptr;
  int panels_max = 1;      // panels of B that one step can take
  int row_panels_max = 1;  // panels of A that it can take with panels_max of B
  // Steps take pairs of rows: twice the multiply-adds, but they take subnormals for zeros.
  bool multiplies_pairs = false;
  std::int64_t flops_per_us = 0;       // of panel_step, a cautious estimate
  std::int64_t lane_flops_per_us = 0;  // of lane_step
  void (*panel_step)(const PanelStep&) = nullptr;
  void (*lane_step)(const LaneStep&) = nullptr;
  // The tree of sums over the partials of the first `rows` rows.
  void (*lane_sums)(const LanePartials&, int rows, LaneTotals&) = nullptr;
  void (*columns_to_codes)(const ColumnsToCodes&) = nullptr;
  void (*codes_to_panel)(const CodesToPanel&) = nullptr;
  void (*row_to_blocks)(const RowToBlocks&) = nullptr;
  // True if one of `count` codes has a magnitude (low seven bits) of 0x7F.
  bool (*has_all_ones)(const std::uint8_t* codes, std::int64_t count) = nullptr;
  // True if adding pairs to one of these sums may go wrong: below kTinySum a subnormal might come
  // of it, and adding a zero would change −0.
  bool (*has_tiny)(const float* sums, std::int64_t count) = nullptr;
  // The functions of convert.h.
  void (*store_row)(const float* sums, const float* bias, std::int64_t count, OutputType type,
                    void* destination) = nullptr;
  void (*add_row)(const float* sums, std::int64_t count, OutputType type,
                  void* destination) = nullptr;
  void (*widen_row)(const void* source, OutputType type, std::int64_t count, Start start,
                    float* sums) = nullptr;
  void (*sum_rows)(const RowsToSum&) = nullptr;
  // Fused multiply-adds on registers alone, to measure the peak by; returns their flops. The second
  // of pairs, where the machine multiplies these.
  std::int64_t (*multiply_add_chains)(std::int64_t steps) = nullptr;
  std::int64_t (*pair_chains)(std::int64_t steps) = nullptr;
};

// One sum of has_tiny.
inline bool is_tiny(float sum) {
  return std::bit_cast<std::uint32_t>(sum) != 0 && sum > -kTinySum && sum < kTinySum;
}

// In use now: the machine's best, or the one that force_simd_target() chose.
const Kernels& kernels();

// All that this machine can run, best first; the last is portable_kernels().
const std::vector<const Kernels*>& all_kernels();

// Plain C++, std::fma element by element: for machines without a fused multiply-add.
const Kernels& portable_kernels();

// True where docs/numerics.md section 4 asks for the exact path in this row.
bool row_needs_exact_path(const Kernels& table, const MxMatrix& matrix, std::int64_t row);

// The lower bytes of the BF16 values of codes 0 to 127, then the upper ones; 64-byte aligned.
const std::uint8_t* bf16_bytes_of(ElementFormat format);

// Whether no value of the row but zero lies below 2^-63: then products with values of another such
// row, and all their sums, are zero or no subnormals of FP32.
bool row_is_coarse(const MxMatrix& matrix, std::int64_t row);

// The factor that turns a decoded code into its value, as FP32 bits: 2^(scale − 127), times `bias`
// powers of two. Meaningless above the limits of the exact path.
inline std::uint32_t factor_bits(std::uint8_t scale, std::uint32_t bias) {
  const std::uint32_t exponent = scale + bias;
  return exponent == 0 ? 0x00400000u : exponent << 23;
}

}  // namespace tandem::gemm
