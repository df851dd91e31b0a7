// SPDX-License-Identifier: Apache-2.0
// One call of multiply(), and the walks over its operands.
#pragma once

#include "gemm/pacer.h"
#include "gemm/packed.h"
#include "gemm/simd/kernels.h"
#include "gemm/tile_product.h"

namespace tandem::gemm {

// Columns [first, first + count) of a K segment of B, times all packed rows of A.
struct Product {
  const Kernels& table;
  const PackedRows::Impl& rows;
  const WeightSegment& segment;
  std::int64_t first;
  std::int64_t count;
  Start start;
  Accumulators accumulators;
  Pacer& pacer;
  bool pairs = false;  // multiply pairs, where both operands have them
};

// Rows and B are packed for lane order; k > 0.
void multiply_lanes(const Product& p);

}  // namespace tandem::gemm
