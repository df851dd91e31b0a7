// SPDX-License-Identifier: Apache-2.0
// Of the mutants made by rule, what is an error is found.
#include "check/mutants/generated_mutants.h"

#include <gtest/gtest.h>

#include <set>

#include "makers.h"

namespace tandem::check {
namespace {

GeneratedReport run_each(int every) {
  return run_generated_mutants(test_makers(), generated_configurations(), {.every = every}, {});
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

// A ring slot that is not put again holds the rows of an earlier round: every access is in order,
// only the values are wrong.
TEST(GeneratedMutants, OfWhichAddressesTellNothingAreFoundByTheirValues) {
  const GeneratedOptions options{.every = 1,
                                 .ending = "vector write_nbi comm/registry.cc#1: last dropped"};
  const std::vector<Configuration> ring = {gather(2, 3, 5).slots(2)};
  const GeneratedReport report = run_generated_mutants(test_makers(), ring, options, {});
  EXPECT_EQ(report.total, 1);
  EXPECT_EQ(report.caught_by_values, 1);
  EXPECT_EQ(names_of(report), "");
  Makers addresses_only = test_makers();
  addresses_only.wrong_values = nullptr;
  EXPECT_EQ(run_generated_mutants(addresses_only, ring, options, {}).survivors.size(), 1u);
  EXPECT_TRUE(find_wrong_values(build(test_makers(), ring[0], nullptr)).empty());
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
