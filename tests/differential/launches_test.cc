// SPDX-License-Identifier: Apache-2.0
// One world, many launches: nothing that a launch leaves behind may show in the next one.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "harness.h"

namespace tandem::differential {
namespace {

constexpr OperatorKind kOperatorKinds[] = {
    OperatorKind::all_to_all_matmul, OperatorKind::all_gather_matmul,
    OperatorKind::matmul_all_gather, OperatorKind::matmul_reduce_scatter};
constexpr const char* kTransports[] = {"shm", "threads", "tcp"};
constexpr int kDataSets = 3;

// An operator that stays alive, and several sets of inputs for it.
struct Live {
  std::vector<Case> cases;
  std::vector<std::unique_ptr<Data>> data;
  std::unique_ptr<Operator> op;
  std::unique_ptr<Output> output;
};

// Variant 2 copies nothing.
Problem problem_of(OperatorKind op, int ranks, int variant) {
  Problem problem;
  problem.op = op;
  problem.ranks = ranks;
  problem.m = variant == 0 ? 5 : 14;
  problem.n = variant == 0 ? 17 : 9;
  problem.k = variant == 0 ? 70 : 200;
  problem.tiles = variant == 0 ? 1 : 4;
  problem.dtype_c = variant == 0 ? OutputType::bf16 : OutputType::fp32;
  problem.bias = variant == 1;
  const bool has_ring =
      op == OperatorKind::all_gather_matmul || op == OperatorKind::matmul_all_gather;
  if (variant == 1 && has_ring) problem.slots = 2;
  if (variant == 1 && op == OperatorKind::all_to_all_matmul) problem.local_matmul = 1;
  if (variant == 2) problem.transfer = Transfer::direct;
  return problem;
}

// Whether ranks of that transport can read each other's memory, and the operator has a use for it.
bool can_be_direct(std::string_view transport, OperatorKind op) {
  return transport != "tcp" && op != OperatorKind::matmul_all_gather;
}

std::vector<Live> make_operators(World& world) {
  std::vector<Live> all;
  for (OperatorKind kind : kOperatorKinds) {
    for (int variant : {0, 1, 2}) {
      if (variant == 2 && !can_be_direct(world.options().transport, kind)) continue;
      Live live;
      for (int seed = 1; seed <= kDataSets; ++seed) {
        Case one;
        one.problem = problem_of(kind, world.size(), variant);
        one.inputs = seed == kDataSets ? InputKind::extreme : InputKind::normal;
        one.transport = world.options().transport;
        one.workers = world.workers();
        one.seed = seed;
        live.cases.push_back(one);
        live.data.push_back(std::make_unique<Data>(one, world.rank()));
      }
      live.op = std::make_unique<Operator>(world, live.cases[0].problem);
      live.output = std::make_unique<Output>(live.cases[0].problem, world.rank());
      all.push_back(std::move(live));
    }
  }
  return all;
}

// All ranks draw the same operators and inputs.
std::string run_launches(World& world, int launches) {
  std::vector<Live> all = make_operators(world);
  Rng rng(99);
  for (int launch = 0; launch < launches; ++launch) {
    Live& live = all[rng.below(all.size())];
    const std::size_t set = rng.below(kDataSets);
    const Data& data = *live.data[set];
    live.op->prepare(data.inputs().b(world.rank()));
    const Origin origin{live.cases[set], world.rank(), live.op->rounds(), launch};
    const std::string failure = launch_and_compare(*live.op, origin, data, *live.output);
    if (!failure.empty()) return failure;
  }
  return "";
}

TEST(Launches, TwoThousandOfAllOperatorsInOneWorld) {
  for (const char* transport : kTransports) {
    for (int ranks : {3, 4}) {
      const WorldOptions options{
          .ranks = ranks, .transport = transport, .workers = ranks == 3 ? 1 : 2};
      EXPECT_EQ(run_world(options, [](World& world) { return run_launches(world, 2000); }), "");
    }
  }
}

TEST(Launches, BarrierWordsCrossTheEndsOfTheirRanges) {
  for (const char* transport : kTransports) {
    for (int bits : {31, 32, 63, 64}) {
      // Each launch takes from 2 to 12 values, so 200 launches cross the end.
      const std::uint64_t end = bits == 64 ? 0 : std::uint64_t{1} << bits;
      SCOPED_TRACE(cat("2^", bits, " on ", transport));
      EXPECT_EQ(
          run_world({.ranks = 3, .transport = transport, .workers = 1, .epoch_start = end - 400},
                    [](World& world) { return run_launches(world, 200); }),
          "");
    }
  }
}

std::string run_with_changing_m(World& world, OperatorKind kind, std::int64_t m_max,
                                Transfer transfer) {
  Case one;
  one.problem.op = kind;
  one.problem.ranks = world.size();
  one.problem.m = m_max;
  one.problem.n = 20;
  one.problem.k = 72;
  one.problem.bias = true;
  one.problem.tiles = 4;
  one.problem.transfer = transfer;
  one.transport = world.options().transport;
  Operator op(world, one.problem);
  for (std::int64_t m : {m_max, std::int64_t{1}, m_max / 2, std::int64_t{0}, m_max - 1,
                         std::int64_t{2}, m_max, std::int64_t{5}, m_max / 2}) {
    one.problem.m = m;
    one.seed = static_cast<std::uint64_t>(m) + 3;
    op.set_m(m);
    if (op.problem().m != m) return cat("set_m(", m, ") left m at ", op.problem().m);
    const Data data(one, world.rank());
    Output output(one.problem, world.rank());
    op.prepare(data.inputs().b(world.rank()));
    for (int launch = 0; launch < 2; ++launch) {
      const Origin origin{one, world.rank(), op.rounds(), launch};
      const std::string failure = launch_and_compare(op, origin, data, output);
      if (!failure.empty()) return failure;
    }
  }
  return "";
}

TEST(Launches, OneOperatorRunsEveryMUpToItsOwn) {
  for (const char* transport : kTransports) {
    for (OperatorKind kind : kOperatorKinds) {
      for (const Transfer transfer : {Transfer::copy, Transfer::direct}) {
        if (transfer == Transfer::direct && !can_be_direct(transport, kind)) continue;
        EXPECT_EQ(
            run_world({.ranks = 3, .transport = transport, .workers = 1},
                      [&](World& world) { return run_with_changing_m(world, kind, 33, transfer); }),
            "");
      }
    }
  }
}

// Fewer rows may mean fewer and taller slices, which must still fit the windows that were made.
TEST(Launches, EveryPlanOfASmallerMFitsTheWindows) {
  const auto run_all = [](World& world, const Problem& problem) -> std::string {
    Operator op(world, problem);
    const Inputs largest(problem, InputKind::coded, 1);
    op.prepare(largest.b(world.rank()));
    for (std::int64_t m = problem.m; m >= 0; m -= m > 100 ? 1 : 7) {
      op.set_m(m);
      Case one;
      one.problem = problem;
      one.problem.m = m;
      one.inputs = InputKind::coded;
      const Data data(one, world.rank());
      Output smaller(one.problem, world.rank());
      const std::string failure =
          launch_and_compare(op, {one, world.rank(), op.rounds()}, data, smaller);
      if (!failure.empty()) return failure;
    }
    return "";
  };
  for (OperatorKind kind : kOperatorKinds) {
    const bool has_ring =
        kind == OperatorKind::all_gather_matmul || kind == OperatorKind::matmul_all_gather;
    for (int slots = 0; slots <= (has_ring ? 2 : 0); ++slots) {
      for (int tile_rows : {0, 33, -1}) {  // −1: by the default, and without copies
        if (tile_rows < 0 && !can_be_direct("shm", kind)) continue;
        Problem problem;
        problem.op = kind;
        problem.ranks = 2;
        problem.m = 128;
        problem.n = 6;
        problem.k = 40;
        problem.slots = slots;
        if (tile_rows > 0) problem.tile_rows = tile_rows;
        if (tile_rows < 0) problem.transfer = Transfer::direct;
        EXPECT_EQ(run_world({.ranks = 2, .transport = "shm", .workers = 1},
                            [&](World& world) { return run_all(world, problem); }),
                  "");
      }
    }
  }
}

TEST(Launches, WeightsStayPreparedOverLaunchesWithOtherInputs) {
  const auto main = [](World& world) -> std::string {
    for (OperatorKind kind : kOperatorKinds) {
      Case one;
      one.problem = problem_of(kind, world.size(), 1);
      Operator op(world, one.problem);
      Output output(one.problem, world.rank());
      const Inputs weights(one.problem, InputKind::normal, 7);
      op.prepare(weights.b(world.rank()));
      for (std::uint64_t seed : {20, 21, 22, 20}) {
        // Left operands of another seed under the same right ones.
        const Inputs left(one.problem, InputKind::coded, seed);
        std::vector<MxOperand> a;
        std::vector<MxOperand> b;
        std::vector<const float*> bias;
        for (int rank = 0; rank < world.size(); ++rank) {
          a.push_back(left.a(rank));
          b.push_back(weights.b(rank));
          bias.push_back(left.bias(rank));
        }
        output.poison();
        op.run(a[world.rank()], output.c(), bias[world.rank()]);
        one.seed = seed;
        const std::string failure = compare({one, world.rank(), op.rounds()}, output.view(),
                                            reference(one.problem, a, b, bias, world.rank()));
        if (!failure.empty()) return failure;
      }
    }
    return "";
  };
  for (const char* transport : kTransports) {
    EXPECT_EQ(run_world({.ranks = 4, .transport = transport, .workers = 1}, main), "");
  }
}

}  // namespace
}  // namespace tandem::differential
