// SPDX-License-Identifier: Apache-2.0
// All mutants made by rule: two minutes.
#include <gtest/gtest.h>

#include "check/mutants/generated_mutants.h"
#include "makers.h"

namespace tandem::check {
namespace {

TEST(GeneratedMutants, AreAllFound) {
  const GeneratedReport report =
      run_generated_mutants(test_makers(), generated_configurations(), {}, {});
  EXPECT_GT(report.total, 2500);
  EXPECT_EQ(report.score(), 1.0);
  EXPECT_EQ(report.caught_by_values, 1);
  for (const GeneratedReport::Survivor& survivor : report.survivors) {
    ADD_FAILURE() << survivor.configuration << "  " << survivor.mutant;
  }
}

}  // namespace
}  // namespace tandem::check
