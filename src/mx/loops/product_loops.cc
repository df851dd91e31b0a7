// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set (CMakeLists.txt), which names the table. Calls no function
// from a header: the linker could hand a copy with AVX2 instructions to the rest of the program.
#include "mx/loops/product_loops.h"

namespace tandem {
namespace {

void panel(const float* __restrict a, const float* __restrict b, std::int64_t depth,
           float* __restrict sums) {
  float part[kLoopColumns];
  for (int j = 0; j < kLoopColumns; ++j) part[j] = sums[j];
  for (std::int64_t k = 0; k < depth; ++k) {
    const float factor = a[k];
    const float* row = b + k * kLoopColumns;
    for (int j = 0; j < kLoopColumns; ++j) part[j] = __builtin_fmaf(factor, row[j], part[j]);
  }
  for (int j = 0; j < kLoopColumns; ++j) sums[j] = part[j];
}

float lane(const float* __restrict a, const float* __restrict b, std::int64_t depth) {
  float part[kLanes] = {};
  std::int64_t k = 0;
  for (; k + kLanes <= depth; k += kLanes) {
    for (int i = 0; i < kLanes; ++i) part[i] = __builtin_fmaf(a[k + i], b[k + i], part[i]);
  }
  for (int i = 0; k + i < depth; ++i) part[i] = __builtin_fmaf(a[k + i], b[k + i], part[i]);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) part[i] += part[i + half];
  }
  return part[0];
}

void fp64(const double* __restrict a, const double* __restrict b, std::int64_t depth,
          double* __restrict sums, double* __restrict magnitudes) {
  for (std::int64_t k = 0; k < depth; ++k) {
    const double factor = a[k];
    const double* row = b + k * kLoopColumns;
    for (int j = 0; j < kLoopColumns; ++j) {
      const double product = factor * row[j];
      sums[j] += product;
      magnitudes[j] += __builtin_fabs(product);
    }
  }
}

}  // namespace

extern const ProductLoops TANDEM_LOOPS;
const ProductLoops TANDEM_LOOPS = {TANDEM_LOOPS_NAME, panel, lane, fp64};

}  // namespace tandem
