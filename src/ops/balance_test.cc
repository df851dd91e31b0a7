// SPDX-License-Identifier: Apache-2.0
// Over many problems: signals balance and bytes go where they belong, whatever the schedule.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "ops/test_balance.h"
#include "ops/test_bytes.h"
#include "ops/test_problem.h"
#include "report/device_json.h"

namespace tandem {
namespace {

// Complaints about one problem, the line that reproduces it first.
std::string complaints(const Problem& problem, const Device& device) {
  const Plan plan = make_plan(problem, device);
  const WorldRecording world = record_plan(plan);
  std::vector<std::string> all = check_balance(plan, world);
  for (const std::string& complaint : check_bytes(plan, world)) all.push_back(complaint);
  if (all.empty()) return "";
  std::string text = describe(problem);
  const std::size_t shown = std::min<std::size_t>(all.size(), 8);
  for (std::size_t i = 0; i < shown; ++i) text += "\n  " + all[i];
  return text + cat("\n  (", all.size(), " in all)");
}

using Variant = std::function<void(Problem& problem)>;

std::vector<Variant> variants_of(OperatorKind op) {
  std::vector<Variant> variants{
      [](Problem&) {},
      [](Problem& problem) { problem.flags = FlagNumbering::round; },
      [](Problem& problem) { problem.barrier = BarrierLayout::single_slot; },
      [](Problem& problem) {
        problem.bias = true;
        problem.dtype_c = OutputType::fp32;
      },
  };
  const auto add = [&](const Variant& variant) { variants.push_back(variant); };
  if (op != OperatorKind::matmul_all_gather) {
    add([](Problem& problem) { problem.transfer = Transfer::direct; });
  }
  if (op == OperatorKind::all_to_all_matmul) {
    add([](Problem& problem) { problem.local_matmul = 1; });
    add([](Problem& problem) { problem.local_matmul = 2; });
    add([](Problem& problem) {
      problem.local_matmul = 1;
      problem.bias = true;
    });
  }
  if (op == OperatorKind::all_gather_matmul || op == OperatorKind::matmul_all_gather) {
    for (int slots : {1, 2, 5}) add([slots](Problem& problem) { problem.slots = slots; });
    add([](Problem& problem) {
      problem.slots = 2;
      problem.flags = FlagNumbering::round;
    });
  }
  if (op == OperatorKind::all_gather_matmul || op == OperatorKind::matmul_reduce_scatter) {
    add([](Problem& problem) { problem.product = ProductForm::subcalls; });
  }
  if (op == OperatorKind::matmul_reduce_scatter) {
    add([](Problem& problem) { problem.cores = CoreMapping::shared; });
    add([](Problem& problem) { problem.fence = FenceJobs::first; });
    add([](Problem& problem) { problem.reduction = ReductionForm::rows; });
    add([](Problem& problem) { problem.ub = UbManagement::pipe; });
    add([](Problem& problem) { problem.strided = StridedCopy::single; });
    add([](Problem& problem) { problem.staging = OutputType::fp32; });
    add([](Problem& problem) {
      problem.transfer = Transfer::direct;
      problem.cores = CoreMapping::shared;
      problem.fence = FenceJobs::first;
    });
    add([](Problem& problem) {
      problem.cores = CoreMapping::shared;
      problem.fence = FenceJobs::first;
      problem.flags = FlagNumbering::round;
      problem.bias = true;
    });
  }
  return variants;
}

// Empty, single, ragged, and larger than a tile in rows and in columns.
constexpr Extents kExtents[] = {{0, 7, 40},     {1, 1, 40},     {37, 5, 0},
                                {37, 0, 64},    {5, 64, 1},     {37, 33, 40},
                                {64, 300, 200}, {300, 40, 129}, {17, 16, 64}};

class Balance : public testing::TestWithParam<OperatorKind> {};

// Every variant at every R and T, with shapes and blocks drawn at random.
TEST_P(Balance, HoldsForEveryVariantRankCountAndRoundCount) {
  const Device device = load_device("host");
  Rng rng(20260401);
  int plans = 0;
  for (const Variant& variant : variants_of(GetParam())) {
    for (int ranks : {1, 2, 3, 4, 5, 8}) {
      for (int tiles : {1, 2, 3, 7, 17, 40}) {
        for (int draw = 0; draw < 6; ++draw) {
          const Extents& extents = kExtents[rng.below(std::size(kExtents))];
          Problem problem = problem_of(GetParam(), ranks, extents);
          problem.tiles = tiles;
          problem.blocks = std::vector{1, 2, 3, 6}[rng.below(4)];
          variant(problem);
          // Separate roles need a block that reduces.
          const bool scatter = problem.op == OperatorKind::matmul_reduce_scatter;
          if (scatter && problem.cores == CoreMapping::separate && problem.blocks == 1) {
            problem.blocks = 2;
          }
          ASSERT_EQ(complaints(problem, device), "");
          ++plans;
        }
      }
    }
  }
  EXPECT_GE(plans, 6 * 6 * 6 * 7);
}

// The depth rule is what bounds a flag: 14 rounds ahead fit its counter, without releases 40 don't.
TEST_P(Balance, NeedsTheDepthRule) {
  Device device = load_device("host");
  Problem problem = problem_of(GetParam(), 2, {.m = 80, .n = 5, .k = 130});
  problem.tiles = 40;
  EXPECT_EQ(complaints(problem, device), "");
  device.flag_depth = 0;
  EXPECT_NE(complaints(problem, device).find(" may count to 4"), std::string::npos);
}

// The strided path of the reduction needs more columns than the unified buffer holds.
TEST_P(Balance, HoldsWhereARowExceedsTheUnifiedBuffer) {
  Device device = load_device("host");
  device.memory.ub_bytes = 4096;
  device.memory.strided_rows_max = 32;
  for (StridedCopy strided : {StridedCopy::rows32, StridedCopy::single}) {
    for (UbManagement ub : {UbManagement::fixed, UbManagement::pipe}) {
      Problem problem = problem_of(GetParam(), 3, {.m = 50, .n = 700, .k = 70});
      problem.tiles = 3;
      if (problem.op == OperatorKind::matmul_reduce_scatter) {
        problem.strided = strided;
        problem.ub = ub;
      }
      EXPECT_EQ(complaints(problem, device), "");
    }
  }
}

// Heads, tails and padding of an accelerator; shapes by its rules.
TEST_P(Balance, HoldsForTheRoundsOfAnAccelerator) {
  const Device device = load_device("ascend950pr");
  const bool scatter = GetParam() == OperatorKind::matmul_reduce_scatter;
  for (TailStrategy tail : {TailStrategy::single, TailStrategy::divide, TailStrategy::pad}) {
    for (int ranks : {2, 4}) {
      for (std::int64_t rows : {2016, 1008, 272}) {
        const bool split_k = GetParam() == OperatorKind::all_to_all_matmul;
        Problem problem = problem_of(
            GetParam(), ranks,
            {.m = scatter ? rows * ranks : rows, .n = 1024, .k = split_k ? 256 * ranks : 256});
        problem.tile_rows = 128;
        problem.tail = tail;
        EXPECT_EQ(complaints(problem, device), "");
      }
    }
  }
}

std::string short_name(const testing::TestParamInfo<OperatorKind>& info) {
  std::string name(to_string(info.param));
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Operators, Balance,
                         testing::Values(OperatorKind::all_to_all_matmul,
                                         OperatorKind::all_gather_matmul,
                                         OperatorKind::matmul_all_gather,
                                         OperatorKind::matmul_reduce_scatter),
                         short_name);

// A recording of a sound plan with one call changed, and what is said about it.
class BalanceChecker : public testing::Test {
 protected:
  void SetUp() override {
    Problem problem = problem_of(OperatorKind::matmul_reduce_scatter, 2, {.m = 8, .n = 4, .k = 32});
    problem.tiles = 2;
    problem.blocks = 2;
    plan_ = make_plan(problem, load_device("host"));
    world_ = record_plan(plan_);
    ASSERT_TRUE(said().empty());
  }
  std::string said() const {
    std::string text;
    for (const std::string& line : check_balance(plan_, world_)) text += line + '\n';
    for (const std::string& line : check_bytes(plan_, world_)) text += line + '\n';
    return text;
  }
  VerbList& verbs(int rank, std::size_t core) { return world_[rank][core].verbs; }
  // The first call of this kind in a core's list.
  VerbList::iterator find(int rank, std::size_t core, Verb verb) {
    auto found = std::ranges::find(verbs(rank, core), verb, &VerbRecord::verb);
    EXPECT_NE(found, verbs(rank, core).end());
    return found;
  }
  void erase(int rank, std::size_t core, Verb verb) {
    verbs(rank, core).erase(find(rank, core, verb));
  }
  void expect_said(const std::string& text) {
    EXPECT_NE(said().find(text), std::string::npos) << "said only:\n" << said();
  }

  Plan plan_;
  WorldRecording world_;
};

constexpr std::size_t kCube = 0;    // block 0
constexpr std::size_t kVector = 1;  // block 0: reduces
constexpr std::size_t kSender = 3;  // block 1: communicates

TEST_F(BalanceChecker, MissesNoFlag) {
  erase(0, kCube, Verb::set_flag);
  expect_said("rank 0 block 0 cube: flag 0 set 1 times, taken 2 times");
}

TEST_F(BalanceChecker, SeesAFlagThatRunsAhead) {
  VerbList& cube = verbs(0, kCube);
  VerbList& vector = verbs(0, kVector);
  const VerbRecord set = *find(0, kCube, Verb::set_flag);
  const VerbRecord wait = *find(0, kVector, Verb::wait_flag);
  for (int i = 0; i < 14; ++i) {
    cube.push_back(set);
    vector.push_back(wait);
  }
  expect_said("rank 0 block 0 cube: flag 0 may count to 16");
}

TEST_F(BalanceChecker, CountsWhatAReleaseProves) {
  // 16 sets; the last two wait for a release that follows two takes.
  VerbList cube;
  VerbList vector;
  RecordingCube producer(0, 0, cube);
  RecordingVector consumer(0, 0, vector);
  for (int i = 0; i < 16; ++i) {
    if (i == 14) static_cast<CubeCore&>(producer).wait_flag({2});
    static_cast<CubeCore&>(producer).set_flag(Pipe::fix, {0});
    static_cast<VectorCore&>(consumer).wait_flag({0});
    if (i == 1) static_cast<VectorCore&>(consumer).set_flag(Pipe::mte3, {2});
  }
  EXPECT_EQ(backlog(FlagPositions(cube), FlagPositions(vector), 0), 14u + 2 - 2);
}

TEST_F(BalanceChecker, RefusesReservedFlagIds) {
  find(0, kCube, Verb::set_flag)->id = 14;
  expect_said("rank 0 block 0 cube: flag 14 is not in 0 to 10");
}

TEST_F(BalanceChecker, SeesUnevenMeetings) {
  erase(1, kSender, Verb::sync_all);
  expect_said("rank 1 block 1 vector: ");
  expect_said(" sync_all, block 0 has ");
}

TEST_F(BalanceChecker, SeesEventsOutOfStep) {
  const auto set = find(0, kVector, Verb::set_event);
  verbs(0, kVector).insert(set, *set);
  expect_said("set_event MTE3_V 0 | ops/matmul_reduce_scatter/reduce.cc");
  expect_said("twice in a row");
}

TEST_F(BalanceChecker, SeesAnEventThatNobodyTakes) {
  const auto last = std::ranges::find(verbs(0, kVector).rbegin(), verbs(0, kVector).rend(),
                                      Verb::wait_event, &VerbRecord::verb);
  verbs(0, kVector).erase(std::next(last).base());
  expect_said("rank 0 block 0 vector: event MTE3_V 0 is never taken");
}

TEST_F(BalanceChecker, SeesAnEpochWithoutItsStore) {
  const auto last = std::ranges::find(verbs(1, kSender).rbegin(), verbs(1, kSender).rend(),
                                      Verb::store_epoch, &VerbRecord::verb);
  verbs(1, kSender).erase(std::next(last).base());
  expect_said("rank 0 block 1 vector: wait_epoch arrived 1 >= 3 | comm/team_barrier.cc");
}

TEST_F(BalanceChecker, SeesEpochsThatSkip) {
  find(1, kSender, Verb::store_epoch)->value = 2;
  expect_said("is out of order");
}

TEST_F(BalanceChecker, SeesAMissingOrDoubleStoreOfC) {
  const auto store = find(0, kVector, Verb::store);
  verbs(0, kVector).insert(store, *store);
  expect_said("rank 0: a byte of C is stored twice");
  erase(0, kVector, Verb::store);
  erase(0, kVector, Verb::store);
  expect_said("rank 0: C is not covered by stores");
}

TEST_F(BalanceChecker, SeesATransferThatGoesElsewhere) {
  find(0, kSender, Verb::write_nbi)->views[0].offset += 8;
  expect_said("a byte of window-data is written twice in turn 0");
  expect_said("rank 1: window-data is read where nothing was written");
  find(0, kSender, Verb::write_nbi)->views[0].offset += 1 << 20;
  expect_said(" leaves window-data of rank 1");
}

TEST_F(BalanceChecker, SeesPartialRowsThatNobodyReads) {
  erase(0, kSender, Verb::write_nbi);
  expect_said("rank 0: staging is stored where nobody reads");
}

}  // namespace
}  // namespace tandem
