// SPDX-License-Identifier: Apache-2.0
// Rank r puts row block q of its A (its own columns of K) into rank q's window; each rank
// multiplies what arrived by the K segments of B: C_r = Σ_s A_s[row block r] · B[segment s].
#pragma once

#include "ops/operator.h"

namespace tandem::all_to_all_matmul {

void fill_plan(PlanBuilder& builder);
void cube(CubeCore& core, const Plan& plan);
void vector(VectorCore& core, const Plan& plan);
void reference(const Plan& plan, std::span<const RankOperands> ranks, int rank, Reference& out);

}  // namespace tandem::all_to_all_matmul
