// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness.h"
#include "soak.h"

namespace tandem::differential {
namespace {

TEST(SoakFull, AHundredThousandLaunchesOverSharedMemory) {
  EXPECT_EQ(run_soak({"shm", 3, 100000}), "");
}

TEST(SoakFull, TenThousandLaunchesOverTcp) { EXPECT_EQ(run_soak({"tcp", 3, 10000}), ""); }

TEST(SoakFull, TenThousandLaunchesBetweenNeighbours) {
  EXPECT_EQ(run_soak({"tcp_shared", 3, 10000}), "");
}

TEST(SoakFull, TenThousandLaunchesOverUcx) {
  if (!is_built("ucx")) GTEST_SKIP() << "this build has no ucx";
  EXPECT_EQ(run_soak({"ucx", 3, 10000}), "");
}

}  // namespace
}  // namespace tandem::differential
