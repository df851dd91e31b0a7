// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/pace.h"

#include <algorithm>
#include <chrono>

#include "base/strings.h"
#include "benchmarking/statistics.h"
#include "world_impl.h"

namespace tandem {
namespace {

// The median of a few launches, each as its slowest rank; the same on all ranks.
double seconds_of(World& world, BenchArms& arms, BenchArm arm) {
  constexpr int kLaunches = 5;
  std::vector<double> launches;
  for (int launch = 0; launch < kLaunches; ++launch) {
    world.barrier();
    const auto start = host::Clock::now();
    arms.run(arm);
    const std::chrono::duration<double, std::nano> own = host::Clock::now() - start;
    std::int64_t slowest = 0;
    for (const std::string& text : world.impl().rank->exchange(
             "the times of a launch", cat(static_cast<std::int64_t>(own.count())))) {
      slowest = std::max<std::int64_t>(slowest, std::stoll(text));
    }
    launches.push_back(static_cast<double>(slowest) * 1e-9);
  }
  return median_of(std::move(launches));
}

// All blocks of a rank sleep at the same time, each for its own tiles.
void sleep_at(World& world, const BenchSetup& setup, double gflops) {
  world.impl().rank->set_ns_per_product(2.0 * setup.plan.blocks / gflops);
}

}  // namespace

double set_pace(World& world, const BenchSetup& setup, BenchArms& arms) {
  if (setup.options.sleep_gflops) {
    sleep_at(world, setup, *setup.options.sleep_gflops);
    return *setup.options.sleep_gflops;
  }
  double flops = 0;
  for (int rank = 0; rank < world.size(); ++rank) {
    flops = std::max(flops, flops_of_rank(setup.plan, rank));
  }
  const double wanted = seconds_of(world, arms, BenchArm::comm);
  double gflops = std::max(1e-3, flops / wanted * 1e-9);
  // Blocks whose tiles are more than others', and stores, make products slower than the rate says.
  constexpr int kCorrections = 2;
  for (int turn = 0; turn < kCorrections; ++turn) {
    sleep_at(world, setup, gflops);
    gflops *= std::clamp(seconds_of(world, arms, BenchArm::compute) / wanted, 0.2, 5.0);
  }
  sleep_at(world, setup, gflops);
  return gflops;
}

}  // namespace tandem
