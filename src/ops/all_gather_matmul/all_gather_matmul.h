// SPDX-License-Identifier: Apache-2.0
// Every rank puts its rows of A into all windows; each rank multiplies the virtual concatenation
// by its own B: C_r = concat_s(A_s) · B_r. Own rows are multiplied first, while the rest travels.
#pragma once

#include "ops/operator.h"

namespace tandem::all_gather_matmul {

void fill_plan(PlanBuilder& builder);
void cube(CubeCore& core, const Plan& plan);
void vector(VectorCore& core, const Plan& plan);
void reference(const Plan& plan, std::span<const RankOperands> ranks, int rank, Reference& out);

}  // namespace tandem::all_gather_matmul
