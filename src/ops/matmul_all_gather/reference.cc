// SPDX-License-Identifier: Apache-2.0
#include "ops/common/reference_parts.h"
#include "ops/matmul_all_gather/matmul_all_gather.h"

namespace tandem::matmul_all_gather {

void reference(const Plan& plan, std::span<const RankOperands> ranks, int rank, Reference& out) {
  ReferenceSums sums(plan.problem.m, plan.problem.n, out.wants_exact);
  for (int owner = 0; owner < plan.ranks; ++owner) {
    sums.add_product(ranks[rank].a, ranks[owner].b, plan.order, plan.columns_of(owner).first);
  }
  sums.add_bias(ranks[rank].bias);
  store_reference(sums, plan.problem.dtype_c, out);
}

}  // namespace tandem::matmul_all_gather
