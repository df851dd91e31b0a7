// SPDX-License-Identifier: Apache-2.0
// Ranks that ask for different things are all refused, with one text, before any of them waits.
#include <gtest/gtest.h>

#include <chrono>

#include "base/strings.h"
#include "tandem/error.h"
#include "tandem/operator.h"
#include "tandem/version.h"

namespace tandem {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;
constexpr const char* kTransports[] = {"shm", "threads"};

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

// Every rank ends with exit code 2 and the same text, which holds all the parts, within 2 s.
void expect_refused(int ranks, const World::Main& main, const std::vector<std::string>& parts) {
  for (const char* transport : kTransports) {
    SCOPED_TRACE(transport);
    const auto start = std::chrono::steady_clock::now();
    const auto outcomes =
        World::spawn({.ranks = ranks, .transport = transport, .workers = 1}, main);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 2.0);
    ASSERT_EQ(outcomes.size(), static_cast<std::size_t>(ranks));
    for (const RankOutcome& outcome : outcomes) {
      EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::refused)) << outcome.message;
      EXPECT_EQ(outcome.message, outcomes[0].message);
      EXPECT_FALSE(outcome.secondary);
    }
    for (const std::string& part : parts) expect_contains(outcomes[0].message, part);
  }
}

World::Main agree_with(int odd_rank, const Fields& usual, const Fields& odd) {
  return [=](World& world) {
    world.agree("the launch", world.rank() == odd_rank ? odd : usual);
    return std::string("agreed");
  };
}

TEST(Agree, EqualFieldsPass) {
  const Fields fields = {{"m", "4096"}, {"version", std::string(kVersion)}};
  for (const char* transport : kTransports) {
    const auto outcomes = World::spawn({.ranks = 4, .transport = transport, .workers = 1},
                                       agree_with(2, fields, fields));
    for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.result, "agreed");
  }
}

TEST(Agree, AnotherValueIsRefusedEverywhere) {
  const Fields usual = {{"m", "4096"}, {"n", "512"}};
  for (int odd_rank : {1, 3}) {
    expect_refused(4, agree_with(odd_rank, usual, {{"m", "4097"}, {"n", "512"}}),
                   {"the launch", cat("rank ", odd_rank), "m is 4097", "4096 on rank 0"});
  }
}

TEST(Agree, AnotherValueOfTheFirstRankIsSeenByAll) {
  expect_refused(3, agree_with(0, {{"m", "4096"}}, {{"m", "1"}}),
                 {"4096 on rank 1", "4096 on rank 2", "1 on rank 0"});
}

TEST(Agree, AnotherVersionIsRefused) {
  expect_refused(3, agree_with(2, {{"version", std::string(kVersion)}}, {{"version", "0.0.9"}}),
                 {"version", "rank 2", "0.0.9", std::string(kVersion)});
}

TEST(Agree, AFieldThatOneRankLacksIsRefused) {
  expect_refused(3, agree_with(1, {{"m", "4"}, {"tiles", "2"}}, {{"m", "4"}}),
                 {"tiles", "rank 1", "missing"});
}

TEST(Agree, AFieldThatOneRankAddsIsRefused) {
  expect_refused(3, agree_with(2, {{"m", "4"}}, {{"m", "4"}, {"tiles", "2"}}),
                 {"tiles", "rank 2", "missing"});
}

TEST(Agree, EveryDifferenceIsNamed) {
  expect_refused(
      2, agree_with(1, {{"m", "4"}, {"n", "5"}, {"k", "6"}}, {{"m", "4"}, {"n", "7"}, {"k", "8"}}),
      {"n is 7", "5 on rank 0", "k is 8", "6 on rank 0"});
}

TEST(Agree, AnOperatorWithOtherTilesOnOneRankIsRefused) {
  for (OperatorKind op : {OperatorKind::all_to_all_matmul, OperatorKind::all_gather_matmul,
                          OperatorKind::matmul_all_gather, OperatorKind::matmul_reduce_scatter}) {
    const auto main = [op](World& world) {
      Problem problem;
      problem.op = op;
      problem.ranks = world.size();
      problem.m = problem.n = problem.k = 64;
      problem.tiles = world.rank() == 1 ? 3 : 2;
      const Operator made(world, problem);
      return std::string("made");
    };
    expect_refused(3, main, {std::string(to_string(op)), "tiles", "rank 1", "3", "2"});
  }
}

TEST(Agree, OtherTypesAndOtherOperatorsAreRefused) {
  const auto main = [](World& world) {
    Problem problem;
    problem.op =
        world.rank() == 0 ? OperatorKind::matmul_all_gather : OperatorKind::matmul_reduce_scatter;
    problem.ranks = world.size();
    problem.m = problem.n = problem.k = 64;
    problem.dtype_c = world.rank() == 0 ? OutputType::bf16 : OutputType::fp32;
    const Operator made(world, problem);
    return std::string("made");
  };
  for (const char* transport : kTransports) {
    const auto outcomes = World::spawn({.ranks = 2, .transport = transport, .workers = 1}, main);
    for (const RankOutcome& outcome : outcomes) {
      EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::refused));
      expect_contains(outcome.message, "operator is matmul-reduce-scatter on rank 1");
      expect_contains(outcome.message, "dtype-c is fp32 on rank 1");
    }
  }
}

TEST(Agree, AnotherMOfALiveOperatorIsRefused) {
  const auto main = [](World& world) {
    Problem problem;
    problem.op = OperatorKind::all_gather_matmul;
    problem.ranks = world.size();
    problem.m = problem.n = problem.k = 64;
    Operator op(world, problem);
    op.set_m(world.rank() == 1 ? 17 : 16);
    return std::string("set");
  };
  expect_refused(3, main, {"m is 17 on rank 1", "16 on rank 0"});
}

// A rank that has learned of the refusal ends at once; whoever learns later must not take that for
// the failure.
TEST(Agree, TheRefusalIsTheSameHoweverTheRanksAreTimed) {
  for (int turn = 0; turn < 100; ++turn) {
    const auto outcomes = World::spawn({.ranks = 8, .transport = "threads", .workers = 1},
                                       agree_with(turn % 8, {{"m", "4"}}, {{"m", "5"}}));
    for (const RankOutcome& outcome : outcomes) {
      ASSERT_EQ(outcome.exit_code, exit_code(ErrorKind::refused)) << outcome.message;
    }
  }
}

}  // namespace
}  // namespace tandem
