// SPDX-License-Identifier: Apache-2.0
// A deadlock's report names the wait from which all others follow, and stays short.
#include "check/waits/wait_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "check/run.h"
#include "sim/test_program.h"

namespace tandem::check {
namespace {

using sim::make_program;

std::string deadlock_of(const sim::Program& program) {
  const RunReport report = run_checked(program);
  EXPECT_FALSE(report.finished);
  for (const Finding& finding : report.findings) {
    if (finding.code == FindingCode::deadlock) return to_text(finding);
  }
  return "no deadlock";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The last cube core has no tile and sets no flag.
sim::Program forgotten_flag(int ranks, int blocks) {
  return make_program(ranks, blocks,
                      {.cube =
                           [blocks](CubeCore& core) {
                             if (core.block() == blocks - 1) return;
                             core.set_flag(Pipe::fix, FlagId{0});
                             core.set_flag(Pipe::fix, FlagId{0});
                           },
                       .vector =
                           [](VectorCore& core) {
                             core.wait_flag(FlagId{0});
                             core.wait_flag(FlagId{0});
                             core.sync_all();
                           }});
}

TEST(WaitGraph, NamesASetterThatHasFinished) {
  const std::string text = deadlock_of(forgotten_flag(1, 4));
  EXPECT_TRUE(contains(text, "root: rank 0, vector 3 S: wait_flag")) << text;
  EXPECT_TRUE(contains(text, "has set it 0 times and has FINISHED; cube 0-2 set it 2 times"))
      << text;
  EXPECT_TRUE(contains(text, "behind: rank 0, vector 0-2 S: sync_all")) << text;
  EXPECT_TRUE(contains(text, "not reached by vector 3")) << text;
}

TEST(WaitGraph, FoldsSixtyFourRanks) {
  const std::string text = deadlock_of(forgotten_flag(64, 4));
  EXPECT_LT(std::ranges::count(text, '\n'), 40) << text;
  EXPECT_TRUE(contains(text, "root: rank *, vector 3 S: wait_flag")) << text;
}

TEST(WaitGraph, PutsTheRootFirstAmongTheSides) {
  const RunReport report = run_checked(forgotten_flag(2, 4));
  const auto deadlock = std::ranges::find_if(report.findings, [](const Finding& finding) {
    return finding.code == FindingCode::deadlock;
  });
  ASSERT_NE(deadlock, report.findings.end());
  ASSERT_EQ(deadlock->sides.size(), 2u);
  EXPECT_EQ(deadlock->sides[0].verb, "wait_flag");
  EXPECT_EQ(deadlock->sides[0].core, "vector 3");
  EXPECT_EQ(deadlock->sides[1].verb, "sync_all");
}

TEST(WaitGraph, PrintsACycleEdgeByEdge) {
  const std::string text = deadlock_of(make_program(3, 2,
                                                    {.cube =
                                                         [](CubeCore& core) {
                                                           core.wait_flag(FlagId{1});
                                                           core.set_flag(Pipe::fix, FlagId{0});
                                                         },
                                                     .vector =
                                                         [](VectorCore& core) {
                                                           core.wait_flag(FlagId{0});
                                                           core.set_flag(Pipe::mte3, FlagId{1});
                                                         }}));
  EXPECT_TRUE(contains(text, "cycle of 2 waits (6 alike)")) << text;
  EXPECT_TRUE(contains(text, "cube 0 S: wait_flag")) << text;
  EXPECT_TRUE(contains(text, "for flag 1 of its vector core")) << text;
  EXPECT_FALSE(contains(text, "root:")) << text;
  EXPECT_FALSE(contains(text, "behind:")) << text;
}

TEST(WaitGraph, FollowsAWaitThroughAPipeThatAGateHolds) {
  // The flag is set behind a gate that waits for the one who waits for it.
  const std::string text = deadlock_of(make_program(1, 1,
                                                    {.cube =
                                                         [](CubeCore& core) {
                                                           core.wait_flag(FlagId{1});
                                                           core.set_flag(Pipe::fix, FlagId{0});
                                                         },
                                                     .vector =
                                                         [](VectorCore& core) {
                                                           core.gate(Pipe::mte2, FlagId{0});
                                                           core.set_flag(Pipe::mte2, FlagId{1});
                                                         }}));
  EXPECT_TRUE(contains(text, "cycle of 2 waits")) << text;
  EXPECT_TRUE(contains(text, "vector 0 MTE2: gate")) << text;
}

TEST(WaitGraph, ReportsAnEventThatNobodySets) {
  const std::string text = deadlock_of(make_program(
      1, 1, {.vector = [](VectorCore& core) { core.wait_event(EventKind::mte2_v, 3); }}));
  EXPECT_TRUE(contains(text, "root: rank 0, vector 0 V: wait_event")) << text;
  EXPECT_TRUE(contains(text, "FINISHED without setting it")) << text;
}

TEST(WaitGraph, ReportsABarrierWordWithExpectedAndSeenValue) {
  const std::string text =
      deadlock_of(make_program(2, 1, {.vector = [](VectorCore& core) {
                                 const EpochSlot slot{EpochSlot::Kind::arrived, 1 - core.rank()};
                                 if (core.rank() == 0) {
                                   core.store_epoch(1, {EpochSlot::Kind::arrived, 0}, 2);
                                 }
                                 core.wait_epoch(slot, core.rank() == 0 ? 0 : 3);
                               }}));
  EXPECT_TRUE(contains(text, "root: rank 1, vector 0 S: wait_epoch")) << text;
  EXPECT_TRUE(contains(text, "barrier word of rank 0: expected 3, is 2")) << text;
  EXPECT_TRUE(contains(text, "has FINISHED")) << text;
}

TEST(WaitGraph, SaysThatAnotherWaitTookACountOfSyncAll) {
  const std::string text = deadlock_of(make_program(1, 2, {.vector = [](VectorCore& core) {
                                                      if (core.block() == 0) {
                                                        core.gate(Pipe::mte2, FlagId{14});
                                                      }
                                                      core.sync_all();
                                                    }}));
  EXPECT_TRUE(contains(text, "sync_all") || contains(text, "gate")) << text;
}

}  // namespace
}  // namespace tandem::check
