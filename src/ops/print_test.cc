// SPDX-License-Identifier: Apache-2.0
// Whole plans as text, and that the text tells what the kernels do.
#include "plan/print.h"

#include <gtest/gtest.h>

#include <string>

#include "ops/test_balance.h"
#include "ops/test_golden.h"
#include "ops/test_problem.h"
#include "plan/print_parts.h"
#include "report/device_json.h"

namespace tandem {
namespace {

std::string printed(const Problem& problem, std::string_view device) {
  return print_plan(make_plan(problem, load_device(device)));
}

TEST(GoldenPlan, AllToAllMatmulOnAnAccelerator) {
  Problem problem = problem_of(OperatorKind::all_to_all_matmul, 4, {2048, 3584, 8192});
  problem.tile_rows = 512;
  problem.local_matmul = 1;
  expect_golden("plan_all_to_all_matmul_950pr.txt", printed(problem, "ascend950pr"));
}

TEST(GoldenPlan, AllGatherMatmulWithATailOnAnAccelerator) {
  Problem problem = problem_of(OperatorKind::all_gather_matmul, 4, {2061, 2560, 4096});
  problem.dtype_b = ElementFormat::e5m2;
  expect_golden("plan_all_gather_matmul_950pr.txt", printed(problem, "ascend950pr"));
}

TEST(GoldenPlan, MatmulReduceScatterOnAnAccelerator) {
  Problem problem = problem_of(OperatorKind::matmul_reduce_scatter, 4, {8064, 4096, 1792});
  problem.flags = FlagNumbering::round;
  expect_golden("plan_matmul_reduce_scatter_950pr.txt", printed(problem, "ascend950pr"));
}

TEST(GoldenPlan, AllToAllMatmulWithUnequalSegments) {
  Problem problem = problem_of(OperatorKind::all_to_all_matmul, 3, {100, 70, 300});
  problem.blocks = 2;
  problem.bias = true;
  expect_golden("plan_all_to_all_matmul_host.txt", printed(problem, "host"));
}

TEST(GoldenPlan, MatmulAllGatherRing) {
  Problem problem = problem_of(OperatorKind::matmul_all_gather, 3, {400, 500, 256});
  problem.blocks = 2;
  problem.tiles = 7;
  problem.slots = 2;
  expect_golden("plan_matmul_all_gather_host.txt", printed(problem, "host"));
}

TEST(GoldenPlan, MatmulReduceScatterWithEmptyRanksAndClampedTiles) {
  Problem problem = problem_of(OperatorKind::matmul_reduce_scatter, 5, {3, 40, 64});
  problem.blocks = 4;
  problem.tiles = 2;
  problem.barrier = BarrierLayout::single_slot;
  problem.fence = FenceJobs::first;
  expect_golden("plan_matmul_reduce_scatter_host.txt", printed(problem, "host"));
}

TEST(GoldenPlan, AllGatherMatmulWithoutCopies) {
  Problem problem = problem_of(OperatorKind::all_gather_matmul, 3, {100, 70, 300});
  problem.transfer = Transfer::direct;
  problem.tiles = 4;
  problem.blocks = 2;
  expect_golden("plan_all_gather_matmul_direct.txt", printed(problem, "host"));
}

TEST(GoldenPlan, MatmulReduceScatterWithoutCopies) {
  Problem problem = problem_of(OperatorKind::matmul_reduce_scatter, 3, {100, 70, 300});
  problem.transfer = Transfer::direct;
  problem.tiles = 4;
  problem.blocks = 4;
  expect_golden("plan_matmul_reduce_scatter_direct.txt", printed(problem, "host"));
}

// The table of flags says how often each is set; count in the recorded calls.
TEST(PrintedPlan, FlagsAreSetAsOftenAsItSays) {
  for (const OperatorEntry& entry : all_operators()) {
    for (int tiles : {1, 2, 14, 15, 20}) {
      for (int slots : {0, 3}) {
        Problem problem = problem_of(entry.kind, 2, {40, 5, 130});
        problem.tiles = tiles;
        const bool ring = entry.kind == OperatorKind::all_gather_matmul ||
                          entry.kind == OperatorKind::matmul_all_gather;
        if (ring) problem.slots = slots;
        if (!ring && slots > 0) problem.transfer = Transfer::direct;
        const Plan plan = make_plan(problem, load_device("host"));
        std::int64_t cube = 0;
        std::int64_t vector = 0;
        for (const FlagUse& use : flag_uses(plan)) {
          (use.producer == "cube" ? cube : vector) += use.sets;
        }
        const WorldRecording world = record_plan(plan);
        for (const CoreRecording& core : world[0]) {
          const std::int64_t expected = core.kind == CoreKind::cube ? cube : vector;
          EXPECT_EQ(std::ranges::count(core.verbs, Verb::set_flag, &VerbRecord::verb), expected)
              << describe(problem) << ", " << name_of(core);
        }
      }
    }
  }
}

TEST(PrintedPlan, TablesAlignNumbersToTheRightAndWordsToTheLeft) {
  TextTable table({"name", "count", "word"});
  table.add({"a", "5", "x"});
  table.add({"longer", "1234", "yes"});
  EXPECT_EQ(table.text(),
            "  name    count  word\n"
            "  a           5  x\n"
            "  longer   1234  yes\n");
}

TEST(PrintedPlan, SaysEverythingThatAPersonMayHaveToAct) {
  Problem problem = problem_of(OperatorKind::matmul_reduce_scatter, 3, {2, 8, 32});
  problem.tiles = 9;
  problem.barrier = BarrierLayout::single_slot;
  Plan plan = make_plan(problem, load_device("host"));
  plan.warnings = {"a warning", "another"};
  const std::string text = print_plan(plan);
  EXPECT_NE(text.find("note: --tiles 9 clamped to the 1 rows\n"), std::string::npos) << text;
  EXPECT_NE(text.find("warning: a warning\nwarning: another\n"), std::string::npos) << text;
  EXPECT_NE(text.find("unsound: --barrier single-slot"), std::string::npos) << text;
}

TEST(PrintedPlan, NothingIsPrintedTwiceDifferently) {
  const Problem problem = problem_of(OperatorKind::all_gather_matmul, 2, {64, 64, 64});
  EXPECT_EQ(printed(problem, "host"), printed(problem, "host"));
}

}  // namespace
}  // namespace tandem
