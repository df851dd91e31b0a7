// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include "plan/partition.h"

namespace tandem {

const Tiling& Plan::tiling_of_round(int round) const {
  if (rounds() <= 1 || round < 0) return tiling_full;
  return slices[round].count == slices[0].count ? tiling_head : tiling_tail;
}

Slice Plan::rows_of(int rank) const {
  switch (problem.op) {
    case OperatorKind::all_to_all_matmul:
    case OperatorKind::all_gather_matmul:
      return {rank * problem.m, problem.m};
    case OperatorKind::matmul_all_gather:
      return {0, problem.m};
    case OperatorKind::matmul_reduce_scatter:
      return split_evenly(problem.m, ranks, rank);
  }
  return {};
}

Slice Plan::k_of(int rank) const {
  if (problem.op == OperatorKind::all_to_all_matmul) return split_k(problem.k, ranks, rank);
  return {0, problem.k};
}

Slice Plan::columns_of(int rank) const {
  if (problem.op == OperatorKind::matmul_all_gather) return split_evenly(problem.n, ranks, rank);
  return {0, problem.n};
}

std::int64_t Plan::a_rows([[maybe_unused]] int rank) const {
  return problem.op == OperatorKind::all_to_all_matmul ? ranks * problem.m : problem.m;
}

std::int64_t Plan::c_rows(int rank) const {
  switch (problem.op) {
    case OperatorKind::all_to_all_matmul:
    case OperatorKind::matmul_all_gather:
      return problem.m;
    case OperatorKind::all_gather_matmul:
      return ranks * problem.m;
    case OperatorKind::matmul_reduce_scatter:
      return rows_of(rank).count;
  }
  return 0;
}

int Plan::k_segments() const { return problem.op == OperatorKind::all_to_all_matmul ? ranks : 1; }

}  // namespace tandem
