// SPDX-License-Identifier: Apache-2.0
// Steps that the references of all operators share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/operator.h"

namespace tandem {

// Columns [first, first + count) of K of an operand; `first` is a multiple of 64.
MxMatrix k_segment(const MxMatrix& matrix, Slice k);

// The sums of one rank's rows while products are added to them.
class ReferenceSums {
 public:
  ReferenceSums(std::int64_t rows, std::int64_t columns, bool wants_exact);

  // += a · bᵀ into columns [first, first + b.rows).
  void add_product(const MxMatrix& a, const MxMatrix& b, SumOrder order, std::int64_t first = 0);
  // The bias is the last addition before rounding.
  void add_bias(const float* bias);

  std::int64_t rows;
  std::int64_t columns;
  std::vector<float> sums;
  std::vector<double> exact;  // empty unless wanted
  std::vector<double> magnitude;
};

// Rounds the sums to `type` and makes them the reference's C.
void store_reference(const ReferenceSums& from, OutputType type, Reference& out);

}  // namespace tandem
