// SPDX-License-Identifier: Apache-2.0
#include "reference_api.h"

#include "ops/registry.h"
#include "report/device_json.h"
#include "tandem/operator.h"
#include "transpose.h"

namespace tandem {

Shapes shapes_of(const Problem& problem, int rank) {
  Plan plan;  // its shape functions need the problem alone
  plan.problem = problem;
  plan.ranks = problem.ranks;
  return {.a_rows = plan.a_rows(rank),
          .a_k = plan.k_of(rank).count,
          .b_k = problem.k,
          .b_columns = plan.columns_of(rank).count,
          .c_rows = plan.c_rows(rank),
          .c_columns = problem.n};
}

CanonicalOperands::CanonicalOperands(const Problem& problem, int rank, const MxOperand& a,
                                     const MxOperand& b, const float* bias) {
  const Shapes held = shapes_of(problem, rank);
  const std::uint8_t* a_codes = a.codes;
  if (problem.trans_a) {
    a_.resize(held.a_rows * held.a_k);
    transpose_bytes(a.codes, held.a_k, held.a_rows, a_.data());
    a_codes = a_.data();
  }
  const std::uint8_t* b_codes = b.codes;
  if (!problem.trans_b) {
    b_.resize(held.b_columns * held.b_k);
    transpose_bytes(b.codes, held.b_k, held.b_columns, b_.data());
    b_codes = b_.data();
  }
  view.a = {problem.dtype_a, held.a_rows,          held.a_k, a_codes, held.a_k,
            a.scales,        scale_bytes(held.a_k)};
  view.b = {problem.dtype_b, held.b_columns,       held.b_k, b_codes, held.b_k,
            b.scales,        scale_bytes(held.b_k)};
  view.bias = bias;
}

std::vector<std::uint8_t> reference(const Problem& problem, const std::vector<MxOperand>& a,
                                    const std::vector<MxOperand>& b,
                                    const std::vector<const float*>& bias, int rank) {
  const Plan plan = make_plan(problem, load_device("host"));
  std::vector<CanonicalOperands> held;
  std::vector<RankOperands> views;
  for (int i = 0; i < problem.ranks; ++i) {
    held.emplace_back(problem, i, a[i], b[i], problem.bias ? bias[i] : nullptr);
    views.push_back(held.back().view);
  }
  Reference out;
  find_operator(problem.op).reference(plan, views, rank, out);
  return std::move(out.c);
}

}  // namespace tandem
