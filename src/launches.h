// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/tile_product.h"
#include "machine/launch.h"
#include "plan/plan.h"

namespace tandem {

// What a machine is told to run a plan's operator on `rank`. Keeps a pointer to the plan.
Launch make_launch(const Plan& plan, int rank);

// A rank's B, its columns as rows of all K, packed by the plan's K segments for products in
// `order`.
gemm::PackedWeights pack_weights(const Plan& plan, const MxMatrix& b, SumOrder order);

}  // namespace tandem
