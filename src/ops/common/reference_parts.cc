// SPDX-License-Identifier: Apache-2.0
#include "ops/common/reference_parts.h"

#include <cmath>

#include "mx/output.h"
#include "mx/reference_product.h"

namespace tandem {

MxMatrix k_segment(const MxMatrix& matrix, Slice k) {
  MxMatrix part = matrix;
  part.k = k.count;
  part.codes += k.first;
  part.scales += k.first / kGroup;
  return part;
}

ReferenceSums::ReferenceSums(std::int64_t row_count, std::int64_t column_count, bool wants_exact)
    : rows(row_count),
      columns(column_count),
      sums(row_count * column_count, 0.0f),
      exact(wants_exact ? row_count * column_count : 0, 0.0),
      magnitude(exact.size(), 0.0) {}

void ReferenceSums::add_product(const MxMatrix& a, const MxMatrix& b, SumOrder order,
                                std::int64_t first) {
  accumulate_reference(a, b, order, sums.data() + first, columns);
  if (!exact.empty()) {
    accumulate_fp64(a, b, exact.data() + first, magnitude.data() + first, columns);
  }
}

void ReferenceSums::add_bias(const float* bias) {
  if (bias == nullptr) return;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) sums[i * columns + j] += bias[j];
  }
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double value = bias[i % columns];
    exact[i] += value;
    magnitude[i] += std::abs(value);
  }
}

void store_reference(const ReferenceSums& from, OutputType type, Reference& out) {
  const std::int64_t size = element_bytes(type);
  out.c.resize(from.sums.size() * size);
  for (std::size_t i = 0; i < from.sums.size(); ++i) {
    round_to(type, from.sums[i], out.c.data() + i * size);
  }
  out.exact = from.exact;
  out.magnitude = from.magnitude;
}

}  // namespace tandem
