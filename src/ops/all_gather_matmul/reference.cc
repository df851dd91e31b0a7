// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/all_gather_matmul/all_gather_matmul.h"
#include "ops/common/reference_parts.h"

namespace tandem::all_gather_matmul {

void reference(const Plan& plan, std::span<const RankOperands> ranks, int rank, Reference& out) {
  const std::int64_t m = plan.problem.m;
  const std::int64_t n = plan.problem.n;
  ReferenceSums sums(plan.ranks * m, n, out.wants_exact);
  for (int source = 0; source < plan.ranks; ++source) {
    // (m, k) · (k, n) → rows source · m …
    ReferenceSums block(m, n, out.wants_exact);
    block.add_product(ranks[source].a, ranks[rank].b, plan.order);
    std::ranges::copy(block.sums, sums.sums.begin() + source * m * n);
    if (out.wants_exact) {
      std::ranges::copy(block.exact, sums.exact.begin() + source * m * n);
      std::ranges::copy(block.magnitude, sums.magnitude.begin() + source * m * n);
    }
  }
  sums.add_bias(ranks[rank].bias);
  store_reference(sums, plan.problem.dtype_c, out);
}

}  // namespace tandem::all_gather_matmul
