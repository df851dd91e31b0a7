// SPDX-License-Identifier: Apache-2.0
// What may be done with an operator beside running it: end it early, run it from two threads, ask
// for more than it was made for.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "base/strings.h"
#include "harness.h"
#include "tandem/error.h"

namespace tandem::differential {
namespace {

constexpr OperatorKind kOperatorKinds[] = {
    OperatorKind::all_to_all_matmul, OperatorKind::all_gather_matmul,
    OperatorKind::matmul_all_gather, OperatorKind::matmul_reduce_scatter};

class Operators : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!is_built(GetParam())) GTEST_SKIP() << "this build has no " << GetParam();
  }
  WorldOptions options(int ranks) const {
    return resolve_transport(
        {.ranks = ranks, .transport = GetParam(), .timeout_ms = 20000, .workers = 1});
  }
};
INSTANTIATE_TEST_SUITE_P(All, Operators,
                         testing::Values("shm", "threads", "tcp", "tcp_shared", "ucx"),
                         [](const auto& chosen) { return std::string(chosen.param); });

Case case_of(const World& world, OperatorKind kind, std::int64_t m, std::int64_t n,
             std::int64_t k) {
  Case one;
  one.problem.op = kind;
  one.problem.ranks = world.size();
  one.problem.m = m;
  one.problem.n = n;
  one.problem.k = k;
  one.inputs = InputKind::coded;
  one.transport = world.options().transport;
  return one;
}

// Rank 0 is through first and takes its windows away at once.
TEST_P(Operators, MayEndOnOneRankWhileOthersAreInTheirLastLaunch) {
  const auto main = [](World& world) -> std::string {
    Rng delays(static_cast<std::uint64_t>(world.rank()));
    for (const OperatorKind kind : kOperatorKinds) {
      const Case one = case_of(world, kind, 40, 33, 300);
      const Data data(one, world.rank());
      Output output(one.problem, world.rank());
      for (int turn = 0; turn < 25; ++turn) {
        auto op = std::make_unique<Operator>(world, one.problem);
        op->prepare(data.inputs().b(world.rank()));
        if (world.rank() != 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(delays.below(500)));
        }
        const Origin origin{one, world.rank(), op->rounds(), turn};
        const std::string failure = launch_and_compare(*op, origin, data, output);
        op.reset();
        if (!failure.empty()) return failure;
      }
    }
    return "";
  };
  EXPECT_EQ(run_world(options(3), main), "");
}

TEST_P(Operators, MoveMessagesOfMegabytesWithOtherValuesEachTime) {
  const auto main = [](World& world) -> std::string {
    std::vector<Case> cases;
    std::vector<std::unique_ptr<Data>> data;
    for (const std::uint64_t seed : {1, 2}) {
      cases.push_back(case_of(world, OperatorKind::all_gather_matmul, 640, 1, 8192));
      cases.back().problem.tiles = 1;
      cases.back().seed = seed;
      cases.back().inputs = InputKind::normal;
      data.push_back(std::make_unique<Data>(cases.back(), world.rank()));
    }
    Operator op(world, cases[0].problem);
    Output output(cases[0].problem, world.rank());
    for (int launch = 0; launch < 8; ++launch) {
      op.prepare(data[launch % 2]->inputs().b(world.rank()));
      const Origin origin{cases[launch % 2], world.rank(), op.rounds(), launch};
      const std::string failure = launch_and_compare(op, origin, *data[launch % 2], output);
      if (!failure.empty()) return failure;
    }
    return "";
  };
  EXPECT_EQ(run_world(options(2), main), "");
}

// Rank 1 is late, so that rank 0 is in its launch when another thread of it tries one.
TEST_P(Operators, OfOneWorldRunOneAtATime) {
  const auto main = [](World& world) -> std::string {
    const Case one = case_of(world, OperatorKind::all_gather_matmul, 8, 8, 64);
    const Data data(one, world.rank());
    Output output(one.problem, world.rank());
    Output unused(one.problem, world.rank());
    Operator op(world, one.problem);
    op.prepare(data.inputs().b(world.rank()));
    const auto late = std::chrono::milliseconds(400);
    if (world.rank() == 1) std::this_thread::sleep_for(late);
    auto second = std::async(std::launch::async, [&]() -> std::string {
      if (world.rank() != 0) return "refused";
      std::this_thread::sleep_for(late / 2);
      try {
        op.run(data.inputs().a(world.rank()), unused.c());
      } catch (const Error& error) {
        return error.kind() == ErrorKind::refused ? "refused" : error.what();
      }
      return "a second launch beside the first";
    });
    const std::string failure =
        launch_and_compare(op, {one, world.rank(), op.rounds()}, data, output);
    const std::string answer = second.get();
    return answer == "refused" ? failure : answer;
  };
  EXPECT_EQ(run_world(options(2), main), "");
}

Problem direct_problem(const World& world, OperatorKind kind) {
  Problem problem = case_of(world, kind, 9, 33, 200).problem;
  problem.transfer = Transfer::direct;
  return problem;
}

// Which ranks a link connects is known when they have met: all say the same then.
TEST_P(Operators, AreRefusedReadingInPlaceWhereALinkConnectsRanks) {
  const bool has_memory = resolve_transport({.transport = GetParam()}).same_host ||
                          std::string_view(GetParam()) == "shm" ||
                          std::string_view(GetParam()) == "threads";
  const auto main = [](World& world) -> std::string {
    try {
      const Operator op(world, direct_problem(world, OperatorKind::all_gather_matmul));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto outcomes = World::spawn(options(3), main);
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.result,
              has_memory ? ""
                         : "all-gather-matmul on host: --transfer direct: ranks that a link "
                           "connects cannot read each other's memory; use copy");
  }
}

// A is written where it is read, between launches and with another m.
TEST_P(Operators, TakeAFromTheirWindow) {
  const bool linked =
      std::string_view(GetParam()) == "tcp" || std::string_view(GetParam()) == "ucx";
  if (linked) GTEST_SKIP() << "ranks that a link connects cannot read each other's memory";
  const auto main = [](World& world) -> std::string {
    for (const OperatorKind kind :
         {OperatorKind::all_to_all_matmul, OperatorKind::all_gather_matmul}) {
      Operator op(world, direct_problem(world, kind));
      for (int launch = 0; launch < 12; ++launch) {
        Case one = case_of(world, kind, 9 - launch % 5, 33, 200);
        one.problem.transfer = Transfer::direct;
        one.seed = static_cast<std::uint64_t>(launch);
        const Data data(one, world.rank());
        op.set_m(one.problem.m);
        op.prepare(data.inputs().b(world.rank()));
        const MxPlace place = op.window_a();
        const Shapes held = op.shapes();
        const MxOperand a = data.inputs().a(world.rank());
        std::copy_n(a.codes, held.a_rows * held.a_k, place.codes);
        std::copy_n(a.scales, held.a_rows * scale_bytes(held.a_k), place.scales);
        Output output(one.problem, world.rank());
        output.poison();
        op.run({place.codes, place.scales}, output.c());
        const std::string failure =
            compare({one, world.rank(), op.rounds(), launch}, output.view(), data.reference().c);
        if (!failure.empty()) return failure;
      }
    }
    return "";
  };
  EXPECT_EQ(run_world(options(3), main), "");
}

TEST_P(Operators, HaveNoPlaceForAWhereItIsCopiedOrTransposed) {
  const auto main = [](World& world) -> std::string {
    Problem problem = direct_problem(world, OperatorKind::all_gather_matmul);
    problem.transfer = Transfer::copy;
    const Operator copying(world, problem);
    if (copying.window_a().codes != nullptr) return "a place with copies";
    if (std::string_view(GetParam()) == "tcp" || std::string_view(GetParam()) == "ucx") return "";
    problem.transfer = Transfer::direct;
    problem.trans_a = true;
    const Operator transposing(world, problem);
    if (transposing.window_a().codes != nullptr) return "a place for A that is transposed";
    const Operator scattering(world, direct_problem(world, OperatorKind::matmul_reduce_scatter));
    return scattering.window_a().codes != nullptr ? "a place for A that does not travel" : "";
  };
  EXPECT_EQ(run_world(options(2), main), "");
}

TEST_P(Operators, RefuseAnMBeyondTheirOwnWithBothValues) {
  const auto main = [](World& world) -> std::string {
    Operator op(world, case_of(world, OperatorKind::all_gather_matmul, 8, 8, 64).problem);
    try {
      op.set_m(9);
    } catch (const Error& error) {
      const std::string text = error.what();
      return text.starts_with("operator: m 9 is outside 0 to 8") ? "" : text;
    }
    return "m was taken";
  };
  EXPECT_EQ(run_world(options(2), main), "");
}

}  // namespace
}  // namespace tandem::differential
