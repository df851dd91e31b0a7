// SPDX-License-Identifier: Apache-2.0
// What one rank does for a case: makes the arms, checks them against each other, times them.
#pragma once

#include "benchmarking/rank_report.h"
#include "benchmarking/setup.h"
#include "benchmarking/spin_barrier.h"
#include "tandem/world.h"

namespace tandem {

// Collective. `near`: where the ranks meet if they share memory, else null. The setup is planned
// again for the threads that all ranks have.
BenchRankReport run_bench_rank(World& world, BenchSetup& setup, SpinBarrier* near);

}  // namespace tandem
