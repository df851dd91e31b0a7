// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/tile_product.h"
#include "sim/machine.h"

namespace tandem::sim {

// Does what an operation does to memory: value mode.
void execute(Machine& machine, gemm::PackedRows& packed, Op& op);

}  // namespace tandem::sim
