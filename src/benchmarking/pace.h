// SPDX-License-Identifier: Apache-2.0
// How fast products are that sleep.
#pragma once

#include "benchmarking/arms.h"
#include "benchmarking/setup.h"
#include "tandem/world.h"

namespace tandem {

// Collective: from now on products of this world sleep, at the rate that was asked for, or so that
// the products alone take as long as the transfers alone. Returns the rate of a rank in 1e9 flop/s.
double set_pace(World& world, const BenchSetup& setup, BenchArms& arms);

}  // namespace tandem
