// SPDX-License-Identifier: Apache-2.0
// The scalar reference product: docs/numerics.md as code. Whatever runs faster gives these bits.
#pragma once

#include <cstdint>

#include "mx/matrix.h"

namespace tandem {

// Adds the product of one K segment onto FP32 accumulators, element by element, in `order`:
// accumulators[i·pitch + j] += Σ_k a(i, k) · b(j, k), for (a.rows, k) · (b.rows, k)ᵀ. a.k = b.k.
void accumulate_reference(const MxMatrix& a, const MxMatrix& b, SumOrder order, float* accumulators,
                          std::int64_t pitch);

// The same product in FP64 (each term exact), and the sum of magnitudes Σ_k |a·b| that the error
// bound of docs/numerics.md section 9 needs. Both are added onto what is there.
void accumulate_fp64(const MxMatrix& a, const MxMatrix& b, double* sums, double* magnitudes,
                     std::int64_t pitch);

// True where docs/numerics.md section 4 asks for the exact path: a scale byte above 246 (E4M3) or
// 239 (E5M2), or a NaN code of E4M3, anywhere in the row. 0xFF is above both limits.
bool needs_exact_path(const MxMatrix& matrix, std::int64_t row);

// One (row, column, segment) by the exact path: per group the unscaled FP64 dot product in
// ascending k, scaled with ldexp, added in FP64 in ascending order, rounded once to FP32.
float exact_segment(const MxMatrix& a, std::int64_t row, const MxMatrix& b, std::int64_t column);

}  // namespace tandem
