// SPDX-License-Identifier: Apache-2.0
#include "tandem/benchmarking.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tandem {
namespace {

using enum BenchArm;

// Small, odd, with columns and rows that split unevenly, short groups, and a bias.
CaseOptions small_case(OperatorKind op, int ranks) {
  CaseOptions asked;
  asked.problem = {.op = op, .ranks = ranks, .m = 37, .n = 50, .k = 200, .bias = true};
  return asked;
}

BenchOptions two_launches(std::vector<BenchArm> arms = {}) {
  BenchOptions options;
  options.arms = std::move(arms);
  options.launches = 2;
  return options;
}

class BenchOperators : public testing::TestWithParam<OperatorKind> {};

// Every arm that has a C agrees with the fused one (bench_cases checks it), and every arm is timed
// as often as asked, on cold caches with as many flushes as launches.
TEST_P(BenchOperators, AllArmsAgreeAndEachTimedLaunchHasItsFlush) {
  std::vector<CaseOptions> cases;
  for (const int ranks : {1, 2, 3}) cases.push_back(small_case(GetParam(), ranks));
  cases[1].problem.tiles = 3;
  cases[2].problem.m = 8;  // lane order where m is all rows
  for (const BenchResult& result : bench_cases({}, cases, two_launches())) {
    ASSERT_EQ(result.verdict, Verdict::pass) << testing::PrintToString(result.messages);
    EXPECT_GT(result.checked_elements, 0);
    EXPECT_GE(result.arms.size(), 4u);
    for (const BenchArmResult& arm : result.arms) {
      EXPECT_EQ(arm.launches, 2);
      EXPECT_EQ(arm.flushes, 2);
      EXPECT_GT(arm.seconds.median, 0);
      EXPECT_LE(arm.ratio.low, arm.ratio.high);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BenchOperators,
                         testing::Values(OperatorKind::all_to_all_matmul,
                                         OperatorKind::all_gather_matmul,
                                         OperatorKind::matmul_all_gather,
                                         OperatorKind::matmul_reduce_scatter),
                         [](const auto& chosen) {
                           std::string name(to_string(chosen.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST(Bench, WarmCachesAreNotFlushed) {
  BenchOptions options = two_launches({fused, serial});
  options.caches = BenchCaches::warm;
  const auto results = bench_cases({}, {small_case(OperatorKind::all_gather_matmul, 2)}, options);
  ASSERT_EQ(results[0].arms.size(), 2u);
  for (const BenchArmResult& arm : results[0].arms) EXPECT_EQ(arm.flushes, 0);
}

// Over links the ranks share no memory: what is timed and checked is the same, but the baseline.
TEST(Bench, OverLinksAllArmsButTheBaselineRun) {
  CaseOptions asked = small_case(OperatorKind::matmul_reduce_scatter, 2);
  asked.problem.tiles = 3;
  const auto results = bench_cases({.transport = "tcp"}, {asked}, two_launches());
  ASSERT_EQ(results[0].verdict, Verdict::pass) << testing::PrintToString(results[0].messages);
  EXPECT_GT(results[0].checked_elements, 0);
  ASSERT_EQ(results[0].arms.size(), 4u);
  for (const BenchArmResult& arm : results[0].arms) {
    EXPECT_NE(arm.arm, baseline);
    EXPECT_EQ(arm.launches, 2);
  }
  EXPECT_NE(testing::PrintToString(results[0].notes).find("no baseline"), std::string::npos);
  EXPECT_FALSE(results[0].cannot_hide.empty());
}

// 2·37·50·200 flop of a rank at a rate that makes them take 20 ms, all else being nothing.
TEST(Bench, SleepingProductsTakeTheirTime) {
  BenchOptions options = two_launches({fused, compute, comm});
  options.compute = BenchCompute::sleep;
  options.sleep_gflops = 2.0 * 37 * 50 * 200 / 20e-3 * 1e-9;
  const auto results = bench_cases({}, {small_case(OperatorKind::matmul_all_gather, 1)}, options);
  ASSERT_EQ(results[0].verdict, Verdict::pass) << testing::PrintToString(results[0].messages);
  EXPECT_GE(results[0].arms.at(1).seconds.median, 20e-3);
  EXPECT_EQ(results[0].sleep_gflops, *options.sleep_gflops);
  EXPECT_GT(results[0].checked_elements, 0);  // with real products, before
}

TEST(Bench, RefusesSleepsThatCannotBe) {
  BenchOptions options = two_launches({fused, baseline});
  options.sleep_gflops = -1;
  const CaseOptions asked = small_case(OperatorKind::all_gather_matmul, 2);
  const auto awake = bench_cases({.transport = "tcp"}, {asked}, options);
  for (const char* part : {"without --compute sleep", "is -1", "through shared memory"}) {
    EXPECT_NE(awake[0].messages.at(0).find(part), std::string::npos) << awake[0].messages.at(0);
  }
  options.compute = BenchCompute::sleep;
  options.sleep_gflops.reset();
  const auto alone = bench_cases({}, {small_case(OperatorKind::all_gather_matmul, 1)}, options);
  for (const char* part : {"cannot sleep", "give --sleep-gflops"}) {
    EXPECT_NE(alone[0].messages.at(0).find(part), std::string::npos) << alone[0].messages.at(0);
  }
}

TEST(Bench, RefusesWithEveryReason) {
  CaseOptions asked = small_case(OperatorKind::all_gather_matmul, 2);
  asked.problem.trans_a = true;
  asked.problem.m = -1;
  BenchOptions options = two_launches();
  options.launches = -3;
  options.seconds = 0;
  const auto results = bench_cases({.transport = "threads"}, {asked}, options);
  ASSERT_EQ(results[0].verdict, Verdict::refused);
  EXPECT_EQ(results[0].exit_code, 2);
  const std::string& reasons = results[0].messages.at(0);
  for (const char* part : {"use shm", "transposed", "--launches is -3", "--seconds is 0", "m "}) {
    EXPECT_NE(reasons.find(part), std::string::npos) << part << " is not in " << reasons;
  }
}

// Rounds double while one has 16 rows of a rank's chunk.
TEST(SweepRounds, DoublesWhileARoundHasSixteenRows) {
  CaseOptions base = small_case(OperatorKind::matmul_reduce_scatter, 2);
  base.problem.m = 128;
  std::vector<std::int64_t> rounds;
  for (const CaseOptions& made : sweep_rounds(base)) rounds.push_back(*made.problem.tiles);
  EXPECT_EQ(rounds, (std::vector<std::int64_t>{1, 2, 4}));
}

// The report holds every arm's figures, and the page every point of a sweep.
TEST(BenchReport, JsonAndPageHoldEveryArmAndPoint) {
  std::vector<BenchResult> results(2);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].problem = {.ranks = 2, .m = 64, .n = 32, .k = 32};
    results[i].verdict = Verdict::pass;
    results[i].rounds = static_cast<int>(i) + 1;
    results[i].arms = {{.arm = fused, .seconds = {.median = 2e-3}, .launches = 9, .flushes = 9},
                       {.arm = serial, .seconds = {.median = 1e-3}, .ratio = {0.5, 0.4, 0.6}}};
  }
  const auto json = nlohmann::json::parse(bench_json(results));
  EXPECT_EQ(json.at("passed"), 2);
  EXPECT_EQ(json.at("cases").at(1).at("arms").at(1).at("ratio").at("low_95"), 0.4);
  EXPECT_EQ(json.at("cases").at(0).at("arms").at(0).at("flushes"), 9);
  EXPECT_NE(bench_table(results).find("loses"), std::string::npos);  // losing rows are named
  EXPECT_NE(bench_page(results).find("best: 1 tiles"), std::string::npos);
  EXPECT_EQ(bench_verdict(results), "PASS 2/2");
}

}  // namespace
}  // namespace tandem
