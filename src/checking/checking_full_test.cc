// SPDX-License-Identifier: Apache-2.0
// The large sweep: no sound configuration gives a finding, and every one is confluent.
#include <gtest/gtest.h>

#include "checking/test_configurations.h"

namespace tandem {
namespace {

TEST(CheckSweep, VariantsTimesRanksTimesRoundsTimesBlocks) {
  for (OperatorKind op : kOperatorKinds) {
    for (const std::string& variant : sound_variants(op)) {
      for (int ranks : {2, 3, 4, 5}) {
        for (std::int64_t tiles : {1, 2, 5, 17, 40}) {
          for (int blocks : {1, 2, 3, 6}) {
            CheckOptions options = small_case(op, ranks, tiles);
            options.problem.m = options.problem.m * 4 + 1;  // 40 rounds need rows
            options.variant = variant;
            options.problem.blocks = blocks;
            ASSERT_EQ(alarm_of(options, Refusals::allowed), "");
          }
        }
      }
    }
  }
}

TEST(CheckSweep, TransposesAndBiasTimesSlots) {
  for (OperatorKind op : kOperatorKinds) {
    const bool rings =
        op == OperatorKind::all_gather_matmul || op == OperatorKind::matmul_all_gather;
    for (int bits = 0; bits < 8; ++bits) {
      for (int slots : {0, 1, 2, 3}) {
        if (slots > 0 && !rings) continue;
        CheckOptions options = small_case(op, 3, 17);
        options.problem.trans_a = (bits & 1) != 0;
        options.problem.trans_b = (bits & 2) != 0;
        options.problem.bias = (bits & 4) != 0;
        options.problem.slots = slots;
        ASSERT_EQ(alarm_of(options, Refusals::allowed), "");
      }
    }
  }
}

TEST(CheckSweep, AcceleratorTailsTimesVariants) {
  for (OperatorKind op : kOperatorKinds) {
    for (const std::string& variant : sound_variants(op)) {
      for (int ranks : {2, 3, 4}) {
        for (std::int64_t rows : {16, 32, 48, 80}) {
          for (TailStrategy tail :
               {TailStrategy::divide, TailStrategy::single, TailStrategy::pad}) {
            CheckOptions options = device_case(op, ranks, rows, tail);
            options.variant = variant;
            ASSERT_EQ(alarm_of(options, Refusals::allowed), "");
          }
        }
      }
    }
  }
}

TEST(CheckSweep, ShallowQueuesTimesSchedules) {
  for (OperatorKind op : kOperatorKinds) {
    for (const std::string& variant : sound_variants(op)) {
      for (int depth : {1, 2, 32}) {
        for (CheckStrategy strategy :
             {CheckStrategy::random, CheckStrategy::pct, CheckStrategy::starve}) {
          CheckOptions options = small_case(op, 3, 5);
          options.variant = variant;
          options.profile.queue_depth = depth;
          options.strategy = strategy;
          options.schedules = 40;
          ASSERT_EQ(alarm_of(options, Refusals::allowed), "");
        }
      }
    }
  }
}

TEST(CheckSweep, SixtyFourRanksOfSixtyFiveBlocks) {
  CheckOptions options;
  options.problem = {.op = OperatorKind::all_gather_matmul, .ranks = 64, .m = 64, .n = 64, .k = 64};
  options.problem.tiles = 4;
  options.problem.blocks = 65;
  options.data = CheckData::footprint;
  options.shrink = CheckShrink::off;
  EXPECT_EQ(alarm_of(options), "");
}

}  // namespace
}  // namespace tandem
