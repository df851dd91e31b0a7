// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "mx/output.h"
#include "ops/common/reference_parts.h"
#include "ops/matmul_reduce_scatter/matmul_reduce_scatter.h"

namespace tandem::matmul_reduce_scatter {

void reference(const Plan& plan, std::span<const RankOperands> ranks, int rank, Reference& out) {
  const Problem& problem = plan.problem;
  const Slice rows = plan.rows_of(rank);
  ReferenceSums total(rows.count, problem.n, out.wants_exact);
  if (out.wants_exact) out.rounded.assign(total.sums.size(), 0.0);
  for (int source = 0; source < plan.ranks; ++source) {
    ReferenceSums part(rows.count, problem.n, out.wants_exact);
    part.add_product(ranks[source].a.slice_rows(rows.first, rows.count), ranks[source].b,
                     plan.order);
    if (source == 0) part.add_bias(ranks[source].bias);
    for (std::size_t i = 0; i < part.sums.size(); ++i) {
      // The partial is stored in the staging type; the first one starts the sum.
      std::uint8_t cell[4];
      round_to(problem.staging, part.sums[i], cell);
      const float stored = widen(problem.staging, cell);
      total.sums[i] = source == 0 ? stored : total.sums[i] + stored;
      if (!out.wants_exact) continue;
      total.exact[i] += part.exact[i];
      total.magnitude[i] += part.magnitude[i];
      out.rounded[i] += std::abs(part.exact[i]);
    }
  }
  store_reference(total, problem.dtype_c, out);
}

}  // namespace tandem::matmul_reduce_scatter
