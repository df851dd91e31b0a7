// SPDX-License-Identifier: Apache-2.0
// What one rank does for a case: makes the arms, checks them against each other, times them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "benchmarking/setup.h"
#include "benchmarking/spin_barrier.h"
#include "tandem/world.h"

namespace tandem {

// What one rank says of itself.
struct BenchRankReport {
  std::string sgemm;
  std::string failure;  // arms that don't agree
  bool pinned = false;
  int rounds = 0;
  int blocks = 0;
  double fma_peak = 0;
  double read_bandwidth = 0;
  std::int64_t flush_bytes = 0;
  std::vector<int> flushes;  // by arm of the setup
  std::int64_t checked_elements = 0;
  double baseline_bound = 0;
};

std::string to_json(const BenchRankReport& report);
BenchRankReport parse_bench_report(const std::string& json);

// Memory of all ranks and of the launcher, zeroed before the ranks start.
struct BenchBoard {
  SpinBarrier barrier;
  std::atomic<int> launches = 0;   // timed launches of each arm so far
  std::atomic<bool> stop = false;  // set by rank 0
  // Seconds, [arm of the setup][launch][rank].
  double* seconds(const BenchSetup& setup, std::size_t arm, int launch, int rank) {
    const std::int64_t place =
        (static_cast<std::int64_t>(arm) * kBenchLaunchesMax + launch) * setup.problem.ranks + rank;
    return reinterpret_cast<double*>(this + 1) + place;
  }
  static std::int64_t bytes(const BenchSetup& setup) {
    return static_cast<std::int64_t>(sizeof(BenchBoard)) +
           std::int64_t{kBenchArms} * kBenchLaunchesMax * setup.problem.ranks * 8;
  }
};

// Returns the report as JSON.
std::string run_bench_rank(World& world, const BenchSetup& setup, BenchBoard& board);

}  // namespace tandem
