// SPDX-License-Identifier: Apache-2.0
// Nothing that one launch leaves behind shows in the next, and nothing piles up. The long forms are
// in soak_full_test.cc.
#include "soak.h"

#include <gtest/gtest.h>

#include "harness.h"

namespace tandem::differential {
namespace {

TEST(Soak, TwoThousandLaunchesOverSharedMemory) { EXPECT_EQ(run_soak({"shm", 3, 2000}), ""); }
TEST(Soak, FiveHundredLaunchesOverTcp) { EXPECT_EQ(run_soak({"tcp", 3, 500}), ""); }
TEST(Soak, FiveHundredLaunchesBetweenNeighbours) {
  EXPECT_EQ(run_soak({"tcp_shared", 3, 500}), "");
}

TEST(Soak, FiveHundredLaunchesOverUcx) {
  if (!is_built("ucx")) GTEST_SKIP() << "this build has no ucx";
  EXPECT_EQ(run_soak({"ucx", 3, 500}), "");
}

}  // namespace
}  // namespace tandem::differential
