// SPDX-License-Identifier: Apache-2.0
// A status word that its owner sets back to 0 after each wait loses a signal that comes too early:
// two signals become one, or the reset erases the new one. Counted words lose nothing.
#include <gtest/gtest.h>

#include <cstdint>

#include "check/schedules.h"
#include "planted.h"

namespace tandem {
namespace {

constexpr int kRounds = 3;
using Kind = EpochSlot::Kind;

// Both ranks push a row a round, each round into a place of its own, and tell the other.
void push(VectorCore& core, int round) {
  const int peer = 1 - core.rank();
  core.channel(peer).write_nbi(rows_in(peer, Buffer::window_data, round, 1),
                               rows_in(core.rank(), Buffer::a, round, 1));
  core.channel(peer).drain();
}

void read(VectorCore& core, int round) {
  const UbTensor row{
      .offset = 64 * round, .rows = 1, .columns = 8, .pitch = 16, .element_bytes = 2};
  core.load(row, rows_in(core.rank(), Buffer::window_data, round, 1));
}

void with_reset(VectorCore& core) {
  const int peer = 1 - core.rank();
  for (int round = 0; round < kRounds; ++round) {
    push(core, round);
    core.store_epoch(peer, {Kind::arrived, core.rank()}, 1);
    core.wait_epoch({Kind::arrived, peer}, 1);
    core.store_epoch(core.rank(), {Kind::arrived, peer}, 0);
    read(core, round);
  }
}

void with_count(VectorCore& core) {
  const int peer = 1 - core.rank();
  for (int round = 0; round < kRounds; ++round) {
    push(core, round);
    core.store_epoch(peer, {Kind::arrived, core.rank()}, round + 1);
    core.wait_epoch({Kind::arrived, peer}, round + 1);
    read(core, round);
  }
}

TEST(StatusWord, ThatIsResetIsAmbiguous) {
  const check::RunReport report = check::run_checked(program_of({.vector = with_reset}));
  const Finding* finding = find_code(report, FindingCode::count_ambiguous);
  ASSERT_NE(finding, nullptr) << text_of(report);
  EXPECT_NE(finding->object.find("barrier word of peer"), std::string::npos);
  ASSERT_EQ(finding->sides.size(), 2u);
  for (const FindingSide& side : finding->sides) EXPECT_EQ(side.verb, "store_epoch");
}

// What the finding warns of: some schedules hang, others do not.
TEST(StatusWord, ThatIsResetHangsInSomeSchedule) {
  const sim::Program program = program_of({.vector = with_reset});
  int stuck = 0;
  int ended = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto schedule =
        check::make_schedule({.strategy = check::ScheduleSpec::Strategy::random, .seed = seed});
    check::run_checked(program, schedule.get()).finished ? ++ended : ++stuck;
  }
  EXPECT_GT(stuck, 0);
  EXPECT_GT(ended, 0);
}

TEST(StatusWord, ThatCountsIsSound) {
  const sim::Program program = program_of({.vector = with_count});
  const check::RunReport report = check::run_checked(program);
  EXPECT_TRUE(report.clean()) << text_of(report);
  EXPECT_TRUE(report.confluent());
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto schedule =
        check::make_schedule({.strategy = check::ScheduleSpec::Strategy::random, .seed = seed});
    EXPECT_TRUE(check::run_checked(program, schedule.get()).clean()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tandem
