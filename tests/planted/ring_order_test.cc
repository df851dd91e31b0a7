// SPDX-License-Identifier: Apache-2.0
// A ring of two slots, released as soon as its reader has moved on. That is right only if the
// reader never comes back: a scheduler that walks two rounds side by side does.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "planted.h"

namespace tandem {
namespace {

constexpr int kRounds = 6;
constexpr int kSlots = 2;
constexpr FlagId kReady{0};
constexpr FlagId kRelease{1};
using Kind = EpochSlot::Kind;

// Puts a row a round into the peer's ring. Its release is the own cube core's; the fence makes it
// everybody's.
void put_rows(VectorCore& core) {
  const int peer = 1 - core.rank();
  std::uint64_t count = 0;
  const auto fence = [&] {
    ++count;
    core.store_epoch(peer, {Kind::arrived, core.rank()}, count);
    core.wait_epoch({Kind::arrived, peer}, count);
  };
  fence();
  for (int round = 0; round < kRounds; ++round) {
    if (round >= kSlots) {
      core.wait_flag(kRelease);
      fence();
    }
    core.channel(peer).write_nbi(rows_in(peer, Buffer::window_data, round % kSlots, 1),
                                 rows_in(core.rank(), Buffer::a, round, 1));
    core.channel(peer).drain();
    fence();
    core.set_flag(Pipe::mte3, kReady);
  }
}

// Loads two tiles of each round, in the given order of rounds.
void load_tiles(CubeCore& core, const std::vector<int>& rounds) {
  int taken = 0;
  int released = 0;
  std::array<bool, 2> used{};
  int slot = 0;
  for (int round : rounds) {
    for (; released < round; ++released) {  // left behind
      if (released + kSlots < kRounds) core.set_flag(Pipe::mte2, kRelease);
    }
    for (; taken <= round; ++taken) core.gate(Pipe::mte2, kReady);
    const Fragment rows{rows_in(core.rank(), Buffer::window_data, round % kSlots, 1),
                        rows_in(core.rank(), Buffer::a_scale, 0, 1)};
    if (used[slot]) core.wait_event(EventKind::mte1_mte2, slot);
    core.load(slot, {&rows, 1}, {0, {0, 16}});
    core.set_event(EventKind::mte2_mte1, slot);
    core.wait_event(EventKind::mte2_mte1, slot);
    core.matmul(slot, 0, Accumulate::init);
    core.set_event(EventKind::mte1_mte2, slot);
    used[slot] = true;
    slot = 1 - slot;
  }
  for (int left : {0, 1}) {
    if (used[left]) core.wait_event(EventKind::mte1_mte2, left);
  }
}

void in_order(CubeCore& core) { load_tiles(core, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}); }
void two_by_two(CubeCore& core) { load_tiles(core, {0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5}); }

Planted ring(void (*cube)(CubeCore&)) {
  return {.launches = 2, .epochs = 1 + 2 * kRounds - kSlots, .cube = cube, .vector = put_rows};
}

TEST(RingOrder, ReadsOfAReleasedSlotAreFound) {
  const check::RunReport report = check::run_checked(program_of(ring(two_by_two)));
  const Finding* finding = find_code(report, FindingCode::race_war);
  if (finding == nullptr) finding = find_code(report, FindingCode::race_raw);
  ASSERT_NE(finding, nullptr) << text_of(report);
  EXPECT_NE(finding->object.find("window-data"), std::string::npos);
  ASSERT_EQ(finding->sides.size(), 2u);
  const bool put_first = finding->sides[0].verb == "write_nbi";
  EXPECT_EQ(finding->sides[put_first ? 1 : 0].verb, "load");
  EXPECT_EQ(finding->sides[put_first ? 0 : 1].verb, "write_nbi");
}

TEST(RingOrder, ReadsInTheOrderOfTheReleasesAreSound) {
  const check::RunReport report = check::run_checked(program_of(ring(in_order)));
  EXPECT_TRUE(report.clean()) << text_of(report);
  EXPECT_TRUE(report.confluent());
}

}  // namespace
}  // namespace tandem
