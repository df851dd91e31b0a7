// SPDX-License-Identifier: Apache-2.0
// More ranks than processors by far, up to the limit of 64.
#include <gtest/gtest.h>

#include "harness.h"

namespace tandem::differential {
namespace {

std::vector<Case> cases_of(int ranks, const char* transport) {
  std::vector<Case> cases;
  for (OperatorKind op : {OperatorKind::all_to_all_matmul, OperatorKind::all_gather_matmul,
                          OperatorKind::matmul_all_gather, OperatorKind::matmul_reduce_scatter}) {
    Case one;
    one.problem.op = op;
    one.problem.ranks = ranks;
    const bool rows_are_shared = op == OperatorKind::matmul_reduce_scatter;
    one.problem.m = rows_are_shared ? 70 : 3;
    one.problem.n = 67;
    one.problem.k = op == OperatorKind::all_to_all_matmul ? ranks * 64 + 40 : 72;
    one.problem.tiles = 2;
    one.problem.bias = true;
    one.transport = transport;
    cases.push_back(one);
  }
  return cases;
}

void expect_large_world(int ranks, const char* transport) {
  const auto cases = cases_of(ranks, transport);
  const Summary summary = run_cases(cases);
  EXPECT_TRUE(summary.failures.empty()) << summary.text();
  EXPECT_EQ(summary.cases, static_cast<std::int64_t>(cases.size()));
}

TEST(LargeWorlds, ThirtyThreeProcesses) { expect_large_world(33, "shm"); }
TEST(LargeWorlds, ThirtyThreeThreads) { expect_large_world(33, "threads"); }
TEST(LargeWorlds, ThirtyThreeProcessesOverTcp) { expect_large_world(33, "tcp"); }
TEST(LargeWorlds, SixtyFourProcesses) { expect_large_world(64, "shm"); }
TEST(LargeWorlds, SixtyFourThreads) { expect_large_world(64, "threads"); }

}  // namespace
}  // namespace tandem::differential
