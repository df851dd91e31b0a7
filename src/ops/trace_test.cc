// SPDX-License-Identifier: Apache-2.0
// The calls of small plans, word for word: a change of a kernel shows as a change of a text.
#include <gtest/gtest.h>

#include <string>

#include "ops/test_balance.h"
#include "ops/test_golden.h"
#include "ops/test_problem.h"
#include "report/device_json.h"

namespace tandem {
namespace {

// Two ranks, two blocks; sites without lines, so that moving code changes nothing.
std::string trace(const Problem& problem) {
  const Plan plan = make_plan(problem, load_device("host"));
  std::string text = describe(problem) + "\n";
  for (const RankRecording& cores : record_plan(plan)) text += to_text(cores, SiteText::file);
  return text;
}

Problem small(OperatorKind op, std::int64_t tiles) {
  Problem problem = problem_of(op, 2, {.m = 5, .n = 6, .k = 70});
  problem.blocks = 2;
  problem.tiles = tiles;
  return problem;
}

TEST(GoldenTrace, AllToAllMatmul) {
  const Problem problem = small(OperatorKind::all_to_all_matmul, 2);
  expect_golden("trace_all_to_all_matmul.txt", trace(problem));
}

TEST(GoldenTrace, AllToAllMatmulOwnPartFirst) {
  Problem problem = small(OperatorKind::all_to_all_matmul, 2);
  problem.local_matmul = 1;
  problem.bias = true;
  expect_golden("trace_all_to_all_matmul_own_first.txt", trace(problem));
}

TEST(GoldenTrace, AllGatherMatmul) {
  const Problem problem = small(OperatorKind::all_gather_matmul, 2);
  expect_golden("trace_all_gather_matmul.txt", trace(problem));
}

TEST(GoldenTrace, AllGatherMatmulRing) {
  Problem problem = small(OperatorKind::all_gather_matmul, 3);
  problem.slots = 1;
  expect_golden("trace_all_gather_matmul_ring.txt", trace(problem));
}

TEST(GoldenTrace, AllGatherMatmulWithoutCopies) {
  Problem problem = small(OperatorKind::all_gather_matmul, 3);
  problem.transfer = Transfer::direct;
  expect_golden("trace_all_gather_matmul_direct.txt", trace(problem));
}

TEST(GoldenTrace, MatmulAllGather) {
  const Problem problem = small(OperatorKind::matmul_all_gather, 2);
  expect_golden("trace_matmul_all_gather.txt", trace(problem));
}

TEST(GoldenTrace, MatmulAllGatherRing) {
  Problem problem = small(OperatorKind::matmul_all_gather, 3);
  problem.slots = 1;
  expect_golden("trace_matmul_all_gather_ring.txt", trace(problem));
}

TEST(GoldenTrace, MatmulReduceScatter) {
  const Problem problem = small(OperatorKind::matmul_reduce_scatter, 2);
  expect_golden("trace_matmul_reduce_scatter.txt", trace(problem));
}

TEST(GoldenTrace, MatmulReduceScatterSharedCores) {
  Problem problem = small(OperatorKind::matmul_reduce_scatter, 2);
  problem.cores = CoreMapping::shared;
  expect_golden("trace_matmul_reduce_scatter_shared.txt", trace(problem));
}

// A kernel takes no decision of its own: the same plan gives the same calls.
TEST(Trace, TheSamePlanGivesTheSameCalls) {
  for (const OperatorEntry& entry : all_operators()) {
    const Plan plan = make_plan(small(entry.kind, 3), load_device("host"));
    const WorldRecording first = record_plan(plan);
    const WorldRecording second = record_plan(plan);
    for (std::size_t rank = 0; rank < first.size(); ++rank) {
      for (std::size_t core = 0; core < first[rank].size(); ++core) {
        ASSERT_FALSE(first[rank][core].verbs.empty());
        EXPECT_FALSE(first_difference(first[rank][core].verbs, second[rank][core].verbs));
      }
    }
  }
}

}  // namespace
}  // namespace tandem
