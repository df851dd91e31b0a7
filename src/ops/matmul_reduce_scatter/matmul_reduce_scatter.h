// SPDX-License-Identifier: Apache-2.0
// Each rank multiplies its own A and B, keeps the partial product in staging, puts row block q
// into rank q's window, and reduces its own rows over all ranks, round by round:
// C_r = rows r of Σ_s A_s · B_s.
#pragma once

#include "ops/operator.h"

namespace tandem::matmul_reduce_scatter {

void fill_plan(PlanBuilder& builder);
void cube(CubeCore& core, const Plan& plan);
void vector(VectorCore& core, const Plan& plan);
void reference(const Plan& plan, std::span<const RankOperands> ranks, int rank, Reference& out);

}  // namespace tandem::matmul_reduce_scatter
