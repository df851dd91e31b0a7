// SPDX-License-Identifier: Apache-2.0
// What every operator offers: its plan, its two kernels and its reference.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "machine/core.h"
#include "mx/matrix.h"
#include "plan/builder.h"
#include "plan/plan.h"

namespace tandem {

// The operands of one rank in canonical form: rows of A, and columns of B as rows.
struct RankOperands {
  MxMatrix a;  // (a_rows, k of the rank)
  MxMatrix b;  // (columns of its product, all of k); all-to-all cuts it at segments
  const float* bias = nullptr;  // n FP32, or null
};

// The reference of one rank's C: bits, and what the error bound needs. All (c_rows, n).
struct Reference {
  std::vector<std::uint8_t> c;    // in dtype_c
  std::vector<double> exact;      // Σ of exact terms, bias included; empty if not asked
  std::vector<double> magnitude;  // Σ |ab| + |bias|
  std::vector<double> rounded;    // Σ |part| over parts that are rounded before the last sum
  bool wants_exact = false;
};

struct OperatorEntry {
  OperatorKind kind;
  std::string_view scenario;
  std::string_view summary;
  void (*fill_plan)(PlanBuilder& builder);
  void (*cube)(CubeCore& core, const Plan& plan);
  void (*vector)(VectorCore& core, const Plan& plan);
  // Fills `out` for `rank` from the operands of all ranks.
  void (*reference)(const Plan& plan, std::span<const RankOperands> ranks, int rank,
                    Reference& out);
};

}  // namespace tandem
