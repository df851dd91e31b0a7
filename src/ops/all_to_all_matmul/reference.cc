// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "mx/output.h"
#include "ops/all_to_all_matmul/all_to_all_matmul.h"
#include "ops/common/reference_parts.h"

namespace tandem::all_to_all_matmul {
namespace {

// Adds Σ_s A_s[row block of rank] · B[segment s] over the given sources, in their order.
void add_sources(const Plan& plan, std::span<const RankOperands> ranks, int rank,
                 std::span<const int> sources, ReferenceSums& sums) {
  const Slice rows = plan.rows_of(rank);
  for (int source : sources) {
    const MxMatrix a = ranks[source].a.slice_rows(rows.first, rows.count);
    sums.add_product(a, k_segment(ranks[rank].b, plan.k_of(source)), plan.order);
  }
}

// Own part rounded and stored, then the rest's sum rounded and added in the output's type.
void store_two_parts(const ReferenceSums& own, const ReferenceSums& rest, OutputType type,
                     Reference& out) {
  store_reference(own, type, out);
  const std::int64_t size = element_bytes(type);
  for (std::size_t i = 0; i < own.sums.size(); ++i) {
    std::uint8_t* cell = out.c.data() + i * size;
    const float stored = widen(type, cell);
    round_to(type, rest.sums[i], cell);
    const float added = widen(type, cell);
    round_to(type, stored + added, cell);
    if (!out.wants_exact) continue;
    out.exact[i] += rest.exact[i];
    out.magnitude[i] += rest.magnitude[i];
    out.rounded.push_back(std::abs(own.exact[i]) + std::abs(rest.exact[i]));
  }
}

}  // namespace

void reference(const Plan& plan, std::span<const RankOperands> ranks, int rank, Reference& out) {
  std::vector<int> others;
  for (int source = 0; source < plan.ranks; ++source) {
    if (source != rank) others.push_back(source);
  }
  const Problem& problem = plan.problem;
  ReferenceSums sums(problem.m, problem.n, out.wants_exact);
  if (problem.local_matmul == 0) {
    for (int source = 0; source < plan.ranks; ++source) {
      add_sources(plan, ranks, rank, {&source, 1}, sums);
    }
  } else {
    add_sources(plan, ranks, rank, {&rank, 1}, sums);
  }
  if (problem.local_matmul == 1 && plan.ranks > 1) {
    sums.add_bias(ranks[rank].bias);
    ReferenceSums rest(problem.m, problem.n, out.wants_exact);
    add_sources(plan, ranks, rank, others, rest);
    store_two_parts(sums, rest, problem.dtype_c, out);
    return;
  }
  if (problem.local_matmul == 2) add_sources(plan, ranks, rank, others, sums);
  sums.add_bias(ranks[rank].bias);
  store_reference(sums, problem.dtype_c, out);
}

}  // namespace tandem::all_to_all_matmul
