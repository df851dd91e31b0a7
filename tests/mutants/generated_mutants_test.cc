// SPDX-License-Identifier: Apache-2.0
// Of the mutants made by rule, what is an error is found.
#include "check/mutants/generated_mutants.h"

#include <gtest/gtest.h>

#include <set>

#include "makers.h"

namespace tandem::check {
namespace {

GeneratedReport run_each(int every) {
  return run_generated_mutants(test_makers(), generated_configurations(), every, {});
}

std::string names_of(const GeneratedReport& report) {
  std::string text;
  for (const GeneratedReport::Survivor& survivor : report.survivors) {
    text += survivor.configuration + "\n  " + survivor.mutant + ": " + survivor.observation + "\n";
  }
  return text;
}

TEST(GeneratedMutants, AreFoundInASample) {
  const GeneratedReport report = run_each(17);
  EXPECT_GT(report.total, 100);
  EXPECT_GE(report.score(), 0.95) << names_of(report);
}

TEST(GeneratedMutants, CoverEverySynchronisingVerb) {
  const BuiltProgram built = build(test_makers(), scatter(3, 6, 3), nullptr);
  std::set<std::string> verbs;
  for (const GeneratedMutant& mutant : generate_mutants(built)) {
    const std::size_t first = mutant.name.find(' ') + 1;
    verbs.insert(mutant.name.substr(first, mutant.name.find(' ', first) - first));
  }
  for (const char* verb : {"set_flag", "wait_flag", "sync_all", "set_event", "wait_event",
                           "store_epoch", "wait_epoch", "drain", "write_nbi"}) {
    EXPECT_TRUE(verbs.contains(verb)) << verb;
  }
}

}  // namespace
}  // namespace tandem::check
