// SPDX-License-Identifier: Apache-2.0
// All mutants made by rule: two minutes.
#include <gtest/gtest.h>

#include "check/mutants/generated_mutants.h"
#include "makers.h"

namespace tandem::check {
namespace {

TEST(GeneratedMutants, OfWhichTheOneSurvivorReadsOldRows) {
  const GeneratedReport report =
      run_generated_mutants(test_makers(), generated_configurations(), 1, {});
  EXPECT_GT(report.total, 2500);
  EXPECT_GE(report.score(), 0.995);
  // A ring slot that is not put again holds the rows of an earlier round: every access is in order,
  // only the values are wrong.
  ASSERT_EQ(report.survivors.size(), 1u);
  EXPECT_EQ(report.survivors[0].mutant, "vector write_nbi comm/registry.cc#1: last dropped");
}

}  // namespace
}  // namespace tandem::check
