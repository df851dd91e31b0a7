// SPDX-License-Identifier: Apache-2.0
// How much of the communication an operator hides over a link, with products that take their time
// and no processor: one rank of a world that the environment names. Rank 0 prints
//   operator rounds compute_ms comm_ms fused_ms masking ideal
// and exits with 1 if fused is not below the share of compute + comm that is given.
//   overlap OPERATOR TRANSPORT ROUNDS SHARE_MAX
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/strings.h"
#include "tandem/error.h"
#include "tandem/operator.h"
#include "tandem/types.h"
#include "world_impl.h"

namespace tandem {
namespace {

// About 4 MiB from each rank to each other one.
Problem problem_of(OperatorKind op, int ranks, int rounds) {
  Problem problem;
  problem.op = op;
  problem.ranks = ranks;
  problem.m = 1024;
  problem.n = 1024;
  problem.k = 4096;
  problem.tiles = rounds;
  switch (op) {
    case OperatorKind::all_gather_matmul:
      break;
    case OperatorKind::all_to_all_matmul:
      problem.k = 4096 * ranks;
      break;
    case OperatorKind::matmul_all_gather:
      problem.m = 2048;
      problem.n = 1024 * ranks;
      problem.k = 1024;
      break;
    case OperatorKind::matmul_reduce_scatter:
      problem.m = 2048 * ranks;
      problem.k = 1024;
      break;
  }
  return problem;
}

class Measurement {
 public:
  Measurement(World& world, const Problem& problem) : world_(world), op_(world, problem) {
    const Shapes held = op_.shapes();
    codes_.resize(std::max(held.a_rows * held.a_k, held.b_columns * held.b_k));
    scales_.resize(
        std::max(held.a_rows * scale_bytes(held.a_k), held.b_columns * scale_bytes(held.b_k)));
    c_.resize(held.c_rows * held.c_columns * element_bytes(problem.dtype_c));
    op_.prepare({codes_.data(), scales_.data()});
  }

  // The launch that was least disturbed, by its slowest rank, in milliseconds.
  double run(double ns_per_product) {
    host::HostRank& rank = *world_.impl().rank;
    rank.set_ns_per_product(ns_per_product);
    double best = 1e9;
    for (int launch = 0; launch < 7; ++launch) {
      world_.barrier();
      const auto start = host::Clock::now();
      op_.run({codes_.data(), scales_.data()}, c_.data());
      const std::chrono::duration<double, std::milli> own = host::Clock::now() - start;
      double slowest = 0;
      for (const std::string& text : rank.exchange("the times", std::to_string(own.count()))) {
        slowest = std::max(slowest, std::stod(text));
      }
      best = std::min(best, slowest);
    }
    return best;
  }

 private:
  World& world_;
  Operator op_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint8_t> scales_;
  std::vector<std::uint8_t> c_;
};

int measure(const std::string& name, const std::string& transport, int rounds, double share_max) {
  const auto world = World::from_env({.transport = transport, .workers = 1});
  const OperatorKind op = *try_parse<OperatorKind>(name);
  const double comm = Measurement(*world, problem_of(op, world->size(), rounds)).run(1e-9);
  // Products alone: the same shape where all memory is near.
  const Problem problem = problem_of(op, world->size(), rounds);
  double compute = 0;
  std::atomic<double> rate = 0;
  const auto time_products = [&](World& near) -> std::string {
    Measurement products(near, problem);
    // Time is a + b · rate; two probes give both.
    constexpr double kLow = 1e-9;
    constexpr double kHigh = 1e-2;
    const double base = products.run(kLow);
    const double slope = (products.run(kHigh) - base) / kHigh;
    if (near.rank() == 0) rate = std::max(1e-4, (comm - base) / slope);
    near.barrier();
    return std::to_string(products.run(rate));
  };
  // On one rank alone, since all hosts may share this machine's processors.
  if (world->rank() == 0) {
    const WorldOptions near{.ranks = world->size(), .transport = "threads", .workers = 1};
    for (const RankOutcome& outcome : World::spawn(near, time_products)) {
      compute = std::max(compute, std::atof(outcome.result.c_str()));
    }
  }
  const auto rates = world->impl().rank->exchange("the rate", std::to_string(rate * 1e6));
  const double fused = Measurement(*world, problem).run(std::stod(rates[0]) * 1e-6);
  if (world->rank() != 0) return 0;
  const double masking = (compute + comm - fused) / std::min(compute, comm);
  std::printf("%s %d %.1f %.1f %.1f %.3f %.3f\n", name.c_str(), rounds, compute, comm, fused,
              masking, (rounds - 1.0) / rounds);
  return fused < share_max * (compute + comm) ? 0 : 1;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "overlap: wants OPERATOR TRANSPORT ROUNDS SHARE_MAX\n");
    return 2;
  }
  try {
    return tandem::measure(argv[1], argv[2], std::atoi(argv[3]), std::atof(argv[4]));
  } catch (const tandem::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return tandem::exit_code(error.kind());
  }
}
