// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/partition.h"

namespace tandem {
namespace {

TEST(Partition, PartsAreContiguousAndTheLargerComeFirst) {
  for (std::int64_t total = 0; total <= 70; ++total) {
    for (std::int64_t parts = 1; parts <= 64; ++parts) {
      std::int64_t next = 0;
      std::int64_t last = total;
      for (std::int64_t index = 0; index < parts; ++index) {
        const Slice slice = split_evenly(total, parts, index);
        ASSERT_EQ(slice.first, next);
        ASSERT_LE(slice.count, last);
        ASSERT_LE(ceil_div(total, parts) - slice.count, 1);
        last = slice.count;
        next = slice.end();
      }
      ASSERT_EQ(next, total);
    }
  }
}

// K is shared out in whole pieces of 64, the last one may be short.
TEST(Partition, KIsCutAtPiecesOf64) {
  for (std::int64_t k : {0, 1, 40, 63, 64, 65, 128, 300, 1000, 4096}) {
    for (int ranks : {1, 2, 3, 5, 8, 64}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Slice segment = split_k(k, ranks, rank);
        const std::int64_t pieces = split_evenly(ceil_div(k, 64), ranks, rank).count;
        ASSERT_EQ(segment.first, std::min(k, next));
        ASSERT_EQ(segment.first % 64 == 0 || segment.count == 0, true);
        ASSERT_EQ(ceil_div(segment.count, 64), pieces);
        next = segment.end();
      }
      ASSERT_EQ(next, k);
    }
  }
  // 300 = 4 pieces and 44: three ranks own 2, 2 and 1 pieces.
  EXPECT_EQ(split_k(300, 3, 0), (Slice{0, 128}));
  EXPECT_EQ(split_k(300, 3, 1), (Slice{128, 128}));
  EXPECT_EQ(split_k(300, 3, 2), (Slice{256, 44}));
}

TEST(FlagIds, AreConstantOrFollowTheRoundOrItsSlot) {
  const FlagIds constant{.first = 3};
  EXPECT_EQ(constant.at(0), 3);
  EXPECT_EQ(constant.at(100), 3);
  const FlagIds by_round{.first = 1, .modulus = 10};
  EXPECT_EQ(by_round.at(0), 1);
  EXPECT_EQ(by_round.at(9), 10);
  EXPECT_EQ(by_round.at(10), 1);
  const FlagIds by_slot{.first = 0, .modulus = 11, .slots = 3};
  EXPECT_EQ(by_slot.at(2), 2);
  EXPECT_EQ(by_slot.at(3), 0);
  EXPECT_EQ(by_slot.at(14), 2);
}

TEST(Plan, JobsAreTheFirstOrTheLastBlocks) {
  Plan plan;
  plan.blocks = 5;
  plan.jobs = 2;
  const auto jobs = [&] {
    std::vector<int> list;
    for (int block = 0; block < plan.blocks; ++block) list.push_back(plan.job_of(block));
    return list;
  };
  EXPECT_EQ(jobs(), (std::vector{0, 1, -1, -1, -1}));
  plan.comm_blocks = CommBlocks::last;
  EXPECT_EQ(jobs(), (std::vector{-1, -1, -1, 1, 0}));
}

// What each operator's ranks hold: m 10, n 7, k 300 over three ranks.
TEST(Plan, ShapesByRank) {
  Plan plan;
  plan.ranks = 3;
  plan.problem.m = 10;
  plan.problem.n = 7;
  plan.problem.k = 300;
  const auto shape = [&](OperatorKind op, int rank) {
    plan.problem.op = op;
    return std::vector<std::int64_t>{plan.a_rows(rank),           plan.k_of(rank).count,
                                     plan.columns_of(rank).first, plan.columns_of(rank).count,
                                     plan.c_rows(rank),           plan.rows_of(rank).first};
  };
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(shape(OperatorKind::all_to_all_matmul, 2), (Shape{30, 44, 0, 7, 10, 20}));
  EXPECT_EQ(shape(OperatorKind::all_gather_matmul, 2), (Shape{10, 300, 0, 7, 30, 20}));
  EXPECT_EQ(shape(OperatorKind::matmul_all_gather, 2), (Shape{10, 300, 5, 2, 10, 0}));
  EXPECT_EQ(shape(OperatorKind::matmul_reduce_scatter, 2), (Shape{10, 300, 0, 7, 3, 7}));
}

TEST(Plan, ATailHasItsOwnTilingOnlyBesideHeads) {
  Plan plan;
  plan.tiling_full.base_m = 1;
  plan.tiling_head.base_m = 2;
  plan.tiling_tail.base_m = 3;
  plan.slices = {{0, 5}};
  EXPECT_EQ(plan.tiling_of_round(0).base_m, 1);
  plan.slices = {{0, 5}, {5, 5}, {10, 2}};
  EXPECT_EQ(plan.tiling_of_round(-1).base_m, 1);
  EXPECT_EQ(plan.tiling_of_round(1).base_m, 2);
  EXPECT_EQ(plan.tiling_of_round(2).base_m, 3);
}

}  // namespace
}  // namespace tandem
