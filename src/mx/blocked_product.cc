// SPDX-License-Identifier: Apache-2.0
#include "mx/blocked_product.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "mx/e8m0.h"
#include "mx/float_environment.h"
#include "mx/formats.h"
#include "mx/reference_product.h"

namespace tandem {
namespace {

constexpr std::int64_t kDepth = 128;   // with kLoopColumns, a block of B takes 32 KiB of FP32
constexpr std::int64_t kLaneRows = 8;  // rows of A that share a decoded column of B
static_assert(kDepth % kGroup == 0);

// out[(k - first) · stride] = the scaled value of element k of a row, first ≤ k < end. `first`
// starts a group. Exact in FP64, and in FP32 up to the scale limit of the format.
template <typename Real>
void decode_row(const MxMatrix& matrix, std::int64_t row, std::int64_t first, std::int64_t end,
                Real* out, std::int64_t stride) {
  const std::array<float, 256>& values = format_traits(matrix.format).values;
  const std::uint8_t* codes = matrix.row(row);
  const std::uint8_t* scales = matrix.scale_row(row);
  for (std::int64_t start = first; start < end; start += kGroup) {
    const Real scale = decode_e8m0(scales[start / kGroup]);
    const std::int64_t stop = std::min(start + kGroup, end);
    for (std::int64_t k = start; k < stop; ++k) {
      out[(k - first) * stride] = static_cast<Real>(values[codes[k]]) * scale;
    }
  }
}

template <typename Real>
std::vector<Real> make_buffer(std::int64_t rows, std::int64_t columns) {
  return std::vector<Real>(static_cast<std::size_t>(multiply({rows, columns})));
}

// Calls visit(row of A, its decoded elements, depth, first column, column count, block of B) so
// that each element's K blocks come in ascending order. A block of B is k-major, kLoopColumns
// wide; what lies behind the column count is zero or stale.
template <typename Real, typename Visit>
void walk_blocks(const MxMatrix& a, const MxMatrix& b, const Visit& visit) {
  std::vector<Real> rows = make_buffer<Real>(a.rows, kDepth);
  std::vector<Real> block = make_buffer<Real>(kDepth, kLoopColumns);
  for (std::int64_t first = 0; first < a.k; first += kDepth) {
    const std::int64_t end = std::min(first + kDepth, a.k);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      decode_row(a, i, first, end, rows.data() + i * kDepth, 1);
    }
    for (std::int64_t column = 0; column < b.rows; column += kLoopColumns) {
      const std::int64_t count = std::min(kLoopColumns, b.rows - column);
      for (std::int64_t j = 0; j < count; ++j) {
        decode_row(b, column + j, first, end, block.data() + j, kLoopColumns);
      }
      for (std::int64_t i = 0; i < a.rows; ++i) {
        visit(i, rows.data() + i * kDepth, end - first, column, count, block.data());
      }
    }
  }
}

// Which rows take the exact path with everything they meet.
std::vector<char> find_exact(const MxMatrix& matrix) {
  std::vector<char> exact(static_cast<std::size_t>(matrix.rows));
  for (std::int64_t row = 0; row < matrix.rows; ++row) exact[row] = needs_exact_path(matrix, row);
  return exact;
}

struct Product {
  const ProductLoops& loops;
  const MxMatrix& a;
  const MxMatrix& b;
  std::vector<char> exact_rows;
  std::vector<char> exact_columns;
  float* accumulators;
  std::int64_t pitch;
};

void accumulate_panel(const Product& product) {
  walk_blocks<float>(product.a, product.b,
                     [&](std::int64_t i, const float* row, std::int64_t depth, std::int64_t column,
                         std::int64_t count, const float* block) {
                       if (product.exact_rows[i]) return;
                       float* out = product.accumulators + i * product.pitch + column;
                       float sums[kLoopColumns] = {};
                       std::copy_n(out, count, sums);
                       product.loops.panel(row, block, depth, sums);
                       for (std::int64_t j = 0; j < count; ++j) {
                         if (!product.exact_columns[column + j]) out[j] = sums[j];
                       }
                     });
}

void accumulate_lane(const Product& product) {
  const MxMatrix& a = product.a;
  std::vector<float> rows = make_buffer<float>(std::min(kLaneRows, a.rows), a.k);
  std::vector<float> column = make_buffer<float>(1, a.k);
  for (std::int64_t first = 0; first < a.rows; first += kLaneRows) {
    const std::int64_t count = std::min(kLaneRows, a.rows - first);
    for (std::int64_t i = 0; i < count; ++i) {
      decode_row(a, first + i, 0, a.k, rows.data() + i * a.k, 1);
    }
    for (std::int64_t j = 0; j < product.b.rows; ++j) {
      if (product.exact_columns[j]) continue;
      decode_row(product.b, j, 0, a.k, column.data(), 1);
      for (std::int64_t i = 0; i < count; ++i) {
        if (product.exact_rows[first + i]) continue;
        product.accumulators[(first + i) * product.pitch + j] +=
            product.loops.lane(rows.data() + i * a.k, column.data(), a.k);
      }
    }
  }
}

void accumulate_exact(const Product& product) {
  for (std::int64_t i = 0; i < product.a.rows; ++i) {
    for (std::int64_t j = 0; j < product.b.rows; ++j) {
      if (!product.exact_rows[i] && !product.exact_columns[j]) continue;
      product.accumulators[i * product.pitch + j] += exact_segment(product.a, i, product.b, j);
    }
  }
}

}  // namespace

void accumulate_with(const ProductLoops& loops, const MxMatrix& a, const MxMatrix& b,
                     SumOrder order, float* accumulators, std::int64_t pitch) {
  TANDEM_CHECK(a.k == b.k, "the operands of a product differ in k");
  if (a.k == 0) return;
  const FloatEnvironment environment;
  const Product product{.loops = loops,
                        .a = a,
                        .b = b,
                        .exact_rows = find_exact(a),
                        .exact_columns = find_exact(b),
                        .accumulators = accumulators,
                        .pitch = pitch};
  switch (order) {
    case SumOrder::panel:
      accumulate_panel(product);
      break;
    case SumOrder::lane:
      accumulate_lane(product);
      break;
  }
  accumulate_exact(product);
}

void accumulate_fp64_with(const ProductLoops& loops, const MxMatrix& a, const MxMatrix& b,
                          double* sums, double* magnitudes, std::int64_t pitch) {
  TANDEM_CHECK(a.k == b.k, "the operands of a product differ in k");
  const FloatEnvironment environment;
  walk_blocks<double>(a, b,
                      [&](std::int64_t i, const double* row, std::int64_t depth,
                          std::int64_t column, std::int64_t count, const double* block) {
                        double sum[kLoopColumns] = {};
                        double magnitude[kLoopColumns] = {};
                        std::copy_n(sums + i * pitch + column, count, sum);
                        std::copy_n(magnitudes + i * pitch + column, count, magnitude);
                        loops.fp64(row, block, depth, sum, magnitude);
                        std::copy_n(sum, count, sums + i * pitch + column);
                        std::copy_n(magnitude, count, magnitudes + i * pitch + column);
                      });
}

}  // namespace tandem
