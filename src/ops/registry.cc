// SPDX-License-Identifier: Apache-2.0
#include "ops/registry.h"

#include "base/check.h"
#include "ops/all_gather_matmul/all_gather_matmul.h"
#include "ops/all_to_all_matmul/all_to_all_matmul.h"
#include "ops/matmul_all_gather/matmul_all_gather.h"
#include "ops/matmul_reduce_scatter/matmul_reduce_scatter.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr OperatorEntry kOperators[] = {
    {OperatorKind::all_to_all_matmul, "put-all-to-all-quant-matmul",
     "C_r = sum over s of A_s[row block r] x B[segment s]; rows travel first",
     all_to_all_matmul::fill_plan, all_to_all_matmul::cube, all_to_all_matmul::vector,
     all_to_all_matmul::reference},
    {OperatorKind::all_gather_matmul, "put-all-gather-quant-matmul",
     "C_r = concat(A_0 ... A_R-1) x B_r; rows travel first", all_gather_matmul::fill_plan,
     all_gather_matmul::cube, all_gather_matmul::vector, all_gather_matmul::reference},
    {OperatorKind::matmul_all_gather, "get-all-gather-quant-matmul",
     "C = A x [B_0 | ... | B_R-1] on every rank; products are pulled from a ring",
     matmul_all_gather::fill_plan, matmul_all_gather::cube, matmul_all_gather::vector,
     matmul_all_gather::reference},
    {OperatorKind::matmul_reduce_scatter, "compute-first-reduce-scatter",
     "C_r = rows r of the sum over s of A_s x B_s; products travel and are reduced",
     matmul_reduce_scatter::fill_plan, matmul_reduce_scatter::cube, matmul_reduce_scatter::vector,
     matmul_reduce_scatter::reference},
};

[[noreturn]] void throw_refused(const std::vector<std::string>& reasons) {
  std::string message;
  for (const std::string& reason : reasons) {
    if (!message.empty()) message += '\n';
    message += reason;
  }
  throw Error(ErrorKind::refused, message);
}

}  // namespace

std::span<const OperatorEntry> all_operators() { return kOperators; }

const OperatorEntry& find_operator(OperatorKind kind) {
  for (const OperatorEntry& entry : kOperators) {
    if (entry.kind == kind) return entry;
  }
  TANDEM_CHECK(false, "operator is not registered");
}

Plan make_plan(const Problem& problem, const Device& device) {
  PlanBuilder builder;
  builder.plan.problem = problem;
  builder.plan.device = device;
  builder.plan.ranks = problem.ranks;
  if (!check_ranges(builder)) throw_refused(builder.reasons);
  find_operator(problem.op).fill_plan(builder);
  if (!builder.reasons.empty()) throw_refused(builder.reasons);
  return std::move(builder.plan);
}

}  // namespace tandem
