// SPDX-License-Identifier: Apache-2.0
// The inner loops of the reference product. One scalar source is compiled once for the build's
// baseline and once for AVX2 with FMA: every element keeps its own order of operations, so both
// give the same bits and only the count of elements per instruction differs.
#pragma once

#include <cstdint>

namespace tandem {

inline constexpr std::int64_t kLoopColumns = 64;  // columns of a block of B: eight AVX2 registers
inline constexpr std::int64_t kLanes = 16;        // partial sums of the lane order

struct ProductLoops {
  const char* name;
  // sums[j] = fma(a[k], b[k · kLoopColumns + j], sums[j]) for each j < kLoopColumns, ascending k.
  void (*panel)(const float* a, const float* b, std::int64_t depth, float* sums);
  // The lane-order sum of one segment: a[k] · b[k], k < depth.
  float (*lane)(const float* a, const float* b, std::int64_t depth);
  // As `panel` in FP64, products being exact there, and the sums of their magnitudes.
  void (*fp64)(const double* a, const double* b, std::int64_t depth, double* sums,
               double* magnitudes);
};

const ProductLoops& baseline_loops();
// Null where the build or this machine has no AVX2 with FMA.
const ProductLoops* avx2_loops();
const ProductLoops& best_loops();

}  // namespace tandem
