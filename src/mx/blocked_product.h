// SPDX-License-Identifier: Apache-2.0
// The blocked walk behind mx/reference_product.h, with the inner loops as an argument, so that a
// test can compare them.
#pragma once

#include <cstdint>

#include "mx/loops/product_loops.h"
#include "mx/matrix.h"

namespace tandem {

// accumulate_reference with the given loops.
void accumulate_with(const ProductLoops& loops, const MxMatrix& a, const MxMatrix& b,
                     SumOrder order, float* accumulators, std::int64_t pitch);

// accumulate_fp64 with the given loops.
void accumulate_fp64_with(const ProductLoops& loops, const MxMatrix& a, const MxMatrix& b,
                          double* sums, double* magnitudes, std::int64_t pitch);

}  // namespace tandem
