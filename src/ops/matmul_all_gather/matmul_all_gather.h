// SPDX-License-Identifier: Apache-2.0
// Each rank multiplies the same A by its own columns of B and keeps slices of the product in a
// ring of its window; all ranks read all slices: C = A · [B_0 | B_1 | …] everywhere.
#pragma once

#include "ops/operator.h"

namespace tandem::matmul_all_gather {

void fill_plan(PlanBuilder& builder);
void cube(CubeCore& core, const Plan& plan);
void vector(VectorCore& core, const Plan& plan);
void reference(const Plan& plan, std::span<const RankOperands> ranks, int rank, Reference& out);

}  // namespace tandem::matmul_all_gather
