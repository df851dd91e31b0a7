// SPDX-License-Identifier: Apache-2.0
#include "check/replay.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "check/shrink.h"
#include "tandem/error.h"

namespace tandem::check {
namespace {

TEST(ScheduleToken, IsReadBackToTheSameSchedule) {
  for (const char* token :
       {"canonical", "turns", "turns:12@5.MTE2,13@0.S,400@7>1,401@7~12",
        "random:18446744073709551615", "pct:3:1234:7", "starve:lane=MTE1", "starve:lane=M",
        "starve:kind=cube", "starve:kind=vector", "starve:rank=3", "starve:core=17",
        "starve:channels", "starve:channels=2", "starve:wires", "starve:wires=0"}) {
    EXPECT_EQ(to_token(parse_token(token)), token);
  }
}

TEST(ScheduleToken, RefusesWhatItDoesNotUnderstand) {
  for (const char* token : {"", "turn", "turns:", "turns:12", "turns:12@5", "turns:12@5.MTE9",
                            "turns:12@5>", "random:", "random:-1", "random:1x", "pct:3:1",
                            "starve:", "starve:lane=X", "starve:rank=", "canonical "}) {
    EXPECT_THROW(parse_token(token), Error) << token;
  }
}

TEST(ScheduleToken, SurvivesDrawnText) {
  Rng rng(3);
  const std::string signs = "canonicalturns:0123456789@.>~,=MTESVFIXstarvelane";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    const std::uint64_t length = rng.below(20);
    for (std::uint64_t at = 0; at < length; ++at) text += signs[rng.below(signs.size())];
    try {
      EXPECT_EQ(parse_token(to_token(parse_token(text))), parse_token(text));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::refused);
    }
  }
}

std::vector<Deviation> numbered(int count) {
  std::vector<Deviation> deviations;
  for (int i = 0; i < count; ++i) deviations.push_back({static_cast<std::uint64_t>(i), {}});
  return deviations;
}

bool has(const std::vector<Deviation>& deviations, std::uint64_t step) {
  for (const Deviation& deviation : deviations) {
    if (deviation.step == step) return true;
  }
  return false;
}

TEST(ShrinkDeviations, LeavesExactlyThoseThatAreNeeded) {
  const auto fails = [](const std::vector<Deviation>& kept) {
    return has(kept, 3) && has(kept, 77) && has(kept, 78);
  };
  const auto kept = shrink_deviations(numbered(100), fails, 1000);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_TRUE(fails(kept));
}

TEST(ShrinkDeviations, LeavesNoneWhereNoneIsNeeded) {
  const auto always = [](const std::vector<Deviation>&) { return true; };
  EXPECT_TRUE(shrink_deviations(numbered(100), always, 1000).empty());
}

TEST(ShrinkDeviations, StopsAtItsBudgetWithSomethingThatFails) {
  int runs = 0;
  const auto fails = [&runs](const std::vector<Deviation>& kept) {
    ++runs;
    return has(kept, 3) && has(kept, 96);
  };
  const auto kept = shrink_deviations(numbered(100), fails, 7);
  EXPECT_LE(runs, 7);
  EXPECT_TRUE(has(kept, 3) && has(kept, 96));
}

}  // namespace
}  // namespace tandem::check
