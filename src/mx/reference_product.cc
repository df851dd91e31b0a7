// SPDX-License-Identifier: Apache-2.0
#include "mx/reference_product.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "mx/blocked_product.h"
#include "mx/e8m0.h"
#include "mx/float_environment.h"
#include "mx/formats.h"

namespace tandem {

bool needs_exact_path(const MxMatrix& matrix, std::int64_t row) {
  const FormatTraits& format = format_traits(matrix.format);
  const std::uint8_t* scales = matrix.scale_row(row);
  const std::int64_t groups = ceil_div(matrix.k, kGroup);
  if (std::any_of(scales, scales + groups,
                  [&](std::uint8_t s) { return s > format.scale_limit; })) {
    return true;
  }
  const std::uint8_t* codes = matrix.row(row);
  return format.nan_is_exact_path && std::any_of(codes, codes + matrix.k, format.is_nan);
}

float exact_segment(const MxMatrix& a, std::int64_t row, const MxMatrix& b, std::int64_t column) {
  TANDEM_CHECK(a.k == b.k, "the operands of a product differ in k");
  const FloatEnvironment environment;
  const std::array<float, 256>& values_a = format_traits(a.format).values;
  const std::array<float, 256>& values_b = format_traits(b.format).values;
  const std::uint8_t* codes_a = a.row(row);
  const std::uint8_t* codes_b = b.row(column);
  double sum = 0;
  for (std::int64_t first = 0; first < a.k; first += kGroup) {
    const std::int64_t end = std::min(first + kGroup, a.k);
    double dot = 0;
    for (std::int64_t k = first; k < end; ++k) {
      dot += static_cast<double>(values_a[codes_a[k]]) * static_cast<double>(values_b[codes_b[k]]);
    }
    const int scale_a = a.scale_row(row)[first / kGroup];
    const int scale_b = b.scale_row(column)[first / kGroup];
    if (scale_a == kScaleNan || scale_b == kScaleNan)
      return std::numeric_limits<float>::quiet_NaN();
    sum += std::ldexp(dot, scale_a + scale_b - 2 * kScaleBias);
  }
  return static_cast<float>(sum);
}

void accumulate_reference(const MxMatrix& a, const MxMatrix& b, SumOrder order, float* accumulators,
                          std::int64_t pitch) {
  accumulate_with(best_loops(), a, b, order, accumulators, pitch);
}

void accumulate_fp64(const MxMatrix& a, const MxMatrix& b, double* sums, double* magnitudes,
                     std::int64_t pitch) {
  accumulate_fp64_with(best_loops(), a, b, sums, magnitudes, pitch);
}

}  // namespace tandem
