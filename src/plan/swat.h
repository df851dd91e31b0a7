// SPDX-License-Identifier: Apache-2.0
// The SWAT procedure: tiles of a product whose operands have one byte an element and one E8M0
// scale per 32 along K, for a machine with private L1, L0A, L0B and L0C buffers per cube core.
#pragma once

#include "plan/tiling.h"

namespace tandem {

// Halves base_m once where the tiles would be fewer than two per core. Not part of the plain
// procedure: it costs more loads, so it pays only for products bound by the cube unit.
enum class BaseHalving : std::uint8_t { off, on };

// m, n, k, cores ≥ 1. Throws Error{refused} if the buffers cannot hold one base block.
Tiling swat_tiling(const TilingRequest& request, const DeviceMemory& memory,
                   BaseHalving halving = BaseHalving::off);

}  // namespace tandem
