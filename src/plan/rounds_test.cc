// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "base/strings.h"
#include "plan/builder.h"

namespace tandem {
namespace {

PlanBuilder builder_for(RoundsRule rule) {
  PlanBuilder builder;
  builder.plan.device.name = "test";
  builder.plan.device.rounds = rule;
  builder.plan.ranks = builder.plan.problem.ranks;
  return builder;
}

// "0+512 512+480".
std::string slices_of(const PlanBuilder& builder) {
  std::string text;
  for (const Slice& slice : builder.plan.slices) {
    text += cat(text.empty() ? "" : " ", slice.first, "+", slice.count);
  }
  return text;
}

// Slices are contiguous from 0 to `rows` and none is empty.
void expect_cover(const PlanBuilder& builder, std::int64_t rows) {
  std::int64_t next = 0;
  for (const Slice& slice : builder.plan.slices) {
    ASSERT_EQ(slice.first, next);
    ASSERT_GT(slice.count, 0);
    next = slice.end();
  }
  ASSERT_EQ(next, rows);
}

TEST(BalancedRounds, DifferByAtMostOneRow) {
  for (std::int64_t rows = 0; rows <= 200; ++rows) {
    for (std::int64_t tiles : {1, 2, 3, 7, 16, 17, 40, 199, 300}) {
      PlanBuilder builder = builder_for(RoundsRule::balanced);
      builder.plan.problem.tiles = tiles;
      make_rounds(builder, rows, 1, TailUse::any_rows);
      expect_cover(builder, rows);
      ASSERT_EQ(builder.plan.rounds(), std::min(rows, tiles));
      if (rows == 0) continue;
      const auto [least, most] = std::ranges::minmax(
          builder.plan.slices, {}, [](const Slice& slice) { return slice.count; });
      EXPECT_LE(most.count - least.count, 1);
      EXPECT_TRUE(builder.reasons.empty());
    }
  }
}

TEST(BalancedRounds, SayWhenTilesAreClamped) {
  PlanBuilder builder = builder_for(RoundsRule::balanced);
  builder.plan.problem.tiles = 7;
  make_rounds(builder, 5, 1, TailUse::any_rows);
  ASSERT_EQ(builder.plan.notes.size(), 1u);
  EXPECT_EQ(builder.plan.notes[0], "--tiles 7 clamped to the 5 rows");
  builder = builder_for(RoundsRule::balanced);
  builder.plan.problem.tiles = 5;
  make_rounds(builder, 5, 1, TailUse::any_rows);
  EXPECT_TRUE(builder.plan.notes.empty());
}

TEST(BalancedRounds, TakeTheFewestWhoseRowsAreWithinTileRows) {
  for (std::int64_t rows : {1, 100, 150, 151}) {
    for (std::int64_t tile_rows : {1, 50, 75, 100, 1000}) {
      PlanBuilder builder = builder_for(RoundsRule::balanced);
      builder.plan.problem.tile_rows = tile_rows;
      make_rounds(builder, rows, 1, TailUse::any_rows);
      expect_cover(builder, rows);
      EXPECT_EQ(builder.plan.rounds(), ceil_div(rows, tile_rows));
      for (const Slice& slice : builder.plan.slices) EXPECT_LE(slice.count, tile_rows);
    }
  }
}

// 1 GB/s, products that take twice as long as the transfers.
PlanBuilder over_a_link(std::int64_t latency_ns) {
  PlanBuilder builder = builder_for(RoundsRule::balanced);
  Plan& plan = builder.plan;
  plan.ranks = plan.problem.ranks = 2;
  plan.problem.op = OperatorKind::matmul_reduce_scatter;
  plan.problem.m = 4000;
  plan.problem.n = 1000;
  plan.problem.k = 1000;
  // 2000 × 1000 BF16 are sent in 4 ms, 4 · 10⁹ products take 8 ms.
  plan.device.costs.link_mb_s = 1000;
  plan.device.costs.link_latency_ns = latency_ns;
  plan.device.costs.cube_m = plan.device.costs.cube_n = 1;
  plan.device.costs.cube_k = 500;
  plan.device.costs.steps_per_kcycle = 1000;
  plan.device.costs.clock_mhz = 1000;
  return builder;
}

TEST(BalancedRounds, OverALinkWeighWhatIsExposedAgainstLatencies) {
  // The root of 4000 us over four latencies.
  for (auto [latency_us, rounds] : {std::pair{10, 10}, {40, 5}, {250, 2}, {4000, 1}, {1, 32}}) {
    PlanBuilder builder = over_a_link(latency_us * 1000);
    make_rounds(builder, 2000, 1, TailUse::any_rows);
    EXPECT_EQ(builder.plan.rounds(), rounds) << latency_us;
  }
  PlanBuilder builder = over_a_link(10'000);
  make_rounds(builder, 200, 1, TailUse::any_rows);  // slices of 32 rows
  EXPECT_EQ(builder.plan.rounds(), 6);
  builder = over_a_link(10'000);
  make_rounds(builder, 2000, 1, TailUse::any_rows);
  EXPECT_EQ(builder.plan.notes.front(),
            "rounds: 10, for transfers of 4000 us beside products of about 8000 us, over a link of "
            "1000 MB/s and 10 us");
}

TEST(BalancedRounds, OverALinkFollowTheShorterHalf) {
  PlanBuilder builder = over_a_link(10'000);
  builder.plan.problem.k = 125;  // products of 1 ms
  make_rounds(builder, 2000, 1, TailUse::any_rows);
  EXPECT_EQ(builder.plan.rounds(), 5);
  builder = over_a_link(10'000);
  builder.plan.problem.tiles = 3;
  make_rounds(builder, 2000, 1, TailUse::any_rows);
  EXPECT_EQ(builder.plan.rounds(), 3);
  EXPECT_TRUE(builder.plan.notes.empty());
}

TEST(BalancedRounds, DefaultToAtMostFourOfAtLeast32Rows) {
  for (auto [rows, rounds] : {std::pair{1, 1}, {63, 1}, {64, 2}, {100, 3}, {128, 4}, {100000, 4}}) {
    PlanBuilder builder = builder_for(RoundsRule::balanced);
    make_rounds(builder, rows, 1, TailUse::any_rows);
    EXPECT_EQ(builder.plan.rounds(), rounds) << rows;
  }
}

struct TailCase {
  std::int64_t rows, tile_rows;
  TailStrategy tail;
  const char* slices;
  const char* why;
};

TEST(HeadsAndTail, FollowTheTailStrategy) {
  const TailCase cases[] = {
      {2016, 512, TailStrategy::single, "0+512 512+512 1024+512 1536+480", "3 heads and 480"},
      {1008, 128, TailStrategy::single,
       "0+128 128+128 256+128 384+128 512+128 640+128 768+128 896+112", "7 heads and 112"},
      {2016, 512, TailStrategy::pad, "0+512 512+512 1024+512 1536+480", "pad keeps real rows"},
      {2016, 512, TailStrategy::divide, "0+336 336+336 672+336 1008+336 1344+336 1680+336",
       "2016/4 = 504 and 2016/5 are no multiples of 16; 2016/6 = 336 is"},
      {1008, 512, TailStrategy::divide, "0+336 336+336 672+336", "1008/2 = 504; 1008/3 = 336"},
      {1024, 512, TailStrategy::divide, "0+512 512+512", "divides already"},
      {1009, 512, TailStrategy::divide, "0+1009", "a prime count: one round"},
      {300, 512, TailStrategy::single, "0+300", "one short slice"},
      {512, 512, TailStrategy::single, "0+512", "no tail"},
  };
  for (const TailCase& item : cases) {
    SCOPED_TRACE(item.why);
    PlanBuilder builder = builder_for(RoundsRule::heads_tail);
    builder.plan.problem.tile_rows = item.tile_rows;
    builder.plan.problem.tail = item.tail;
    builder.plan.device.rules.tail_rows_multiple = 16;
    make_rounds(builder, item.rows, 64, TailUse::padded_rows);
    expect_cover(builder, item.rows);
    EXPECT_EQ(slices_of(builder), item.slices);
    EXPECT_TRUE(builder.reasons.empty());
    EXPECT_EQ(builder.plan.padded_rows, item.tail == TailStrategy::pad ? 32 : 0);
  }
}

TEST(HeadsAndTail, UseTheOperatorsHeadUnlessAsked) {
  PlanBuilder builder = builder_for(RoundsRule::heads_tail);
  make_rounds(builder, 1300, 512, TailUse::any_rows);
  EXPECT_EQ(slices_of(builder), "0+512 512+512 1024+276");
  builder = builder_for(RoundsRule::heads_tail);
  make_rounds(builder, 100, 512, TailUse::any_rows);
  EXPECT_EQ(slices_of(builder), "0+100");
}

TEST(HeadsAndTail, RoundTilesToWholeCubeBlocksAndSaySo) {
  PlanBuilder builder = builder_for(RoundsRule::heads_tail);
  builder.plan.problem.tiles = 3;
  make_rounds(builder, 100, 512, TailUse::any_rows);
  EXPECT_EQ(slices_of(builder), "0+48 48+48 96+4");
  EXPECT_TRUE(builder.plan.notes.empty());
  builder = builder_for(RoundsRule::heads_tail);
  builder.plan.problem.tiles = 10;
  make_rounds(builder, 100, 512, TailUse::any_rows);
  EXPECT_EQ(builder.plan.rounds(), 7);
  ASSERT_EQ(builder.plan.notes.size(), 1u);
  EXPECT_EQ(builder.plan.notes[0], "--tiles 10 became 7 rounds: slices are multiples of 16 rows");
}

TEST(HeadsAndTail, RefuseATailThatCannotBeStored) {
  const auto reasons = [](std::int64_t rows, TailStrategy tail, TailUse use) {
    PlanBuilder builder = builder_for(RoundsRule::heads_tail);
    builder.plan.device.rules.tail_rows_multiple = 16;
    builder.plan.problem.tail = tail;
    make_rounds(builder, rows, 512, use);
    return builder.reasons;
  };
  const auto refused = reasons(1024 + 17, TailStrategy::single, TailUse::stored_rows);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("slices of 512 of 1041 rows leave a tail of 17, not a multiple of 16; "
                            "use --tail divide"),
            std::string::npos)
      << refused[0];
  EXPECT_TRUE(reasons(1024 + 16, TailStrategy::single, TailUse::stored_rows).empty());
  EXPECT_EQ(reasons(1024 + 15, TailStrategy::single, TailUse::stored_rows).size(), 1u);
  // Padding helps only where a tail is padded.
  EXPECT_EQ(reasons(1024 + 17, TailStrategy::pad, TailUse::stored_rows), refused);
  EXPECT_TRUE(reasons(1024 + 17, TailStrategy::pad, TailUse::padded_rows).empty());
  EXPECT_TRUE(reasons(1024 + 17, TailStrategy::divide, TailUse::stored_rows).empty());
  EXPECT_TRUE(reasons(1024 + 17, TailStrategy::single, TailUse::any_rows).empty());
}

TEST(Rounds, AnEmptyChunkHasNone) {
  for (RoundsRule rule : {RoundsRule::balanced, RoundsRule::heads_tail}) {
    PlanBuilder builder = builder_for(rule);
    builder.plan.problem.tiles = 3;
    make_rounds(builder, 0, 512, TailUse::stored_rows);
    EXPECT_EQ(builder.plan.rounds(), 0);
    EXPECT_TRUE(builder.reasons.empty());
  }
}

TEST(Slots, AreAllRoundsUnlessFewerAreAskedAndAtMostTheDepth) {
  const auto slots = [](int asked, std::int64_t rounds, std::size_t notes) {
    PlanBuilder builder = builder_for(RoundsRule::balanced);
    builder.plan.problem.tiles = rounds;
    builder.plan.problem.slots = asked;
    make_rounds(builder, 100, 1, TailUse::any_rows);
    make_slots(builder);
    EXPECT_EQ(builder.plan.notes.size(), notes);
    return builder.plan.slots;
  };
  EXPECT_EQ(slots(0, 20, 0), 20);
  EXPECT_EQ(slots(20, 20, 0), 20);
  EXPECT_EQ(slots(25, 20, 0), 20);
  EXPECT_EQ(slots(14, 20, 0), 14);
  EXPECT_EQ(slots(15, 20, 1), 14);
  EXPECT_EQ(slots(1, 20, 0), 1);
  EXPECT_EQ(slots(1, 1, 0), 1);
}

}  // namespace
}  // namespace tandem
