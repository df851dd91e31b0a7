// SPDX-License-Identifier: Apache-2.0
// The detection table: each error is found, named and located in one canonical run, and nothing is
// said about its correct twin, about the controls and about correct programs drawn at random.
#include "check/mutants/mutants.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "base/strings.h"
#include "check/mutants/mutant_run.h"
#include "check/mutants/sound_configurations.h"
#include "makers.h"

namespace tandem::check {
namespace {

using Kind = Mutant::Kind;

std::string text_of(const MutantResult& result) {
  std::string text = cat(to_string(result.outcome), "\n", result.refusal);
  for (const Finding& finding : result.findings) text += to_text(finding) + "\n";
  return text;
}

TEST(Mutants, AreFoundNamedAndLocated) {
  MutantRunner runner(test_makers());
  for (const Mutant& mutant : all_mutants()) {
    if (mutant.kind == Kind::control || mutant.kind == Kind::not_expressible) continue;
    const MutantResult result = runner.run(mutant);
    EXPECT_EQ(result.outcome, Outcome::diagnosed) << mutant.id << ": " << mutant.title << "\n"
                                                  << text_of(result);
  }
}

TEST(Mutants, ControlsAreSilent) {
  MutantRunner runner(test_makers());
  for (const Mutant& mutant : all_mutants()) {
    if (mutant.kind != Kind::control) continue;
    const MutantResult result = runner.run(mutant);
    EXPECT_EQ(result.outcome, Outcome::silent) << mutant.id << ": " << mutant.title << "\n"
                                               << text_of(result);
  }
}

// A group's rows are numbered without a gap: coded, or with a reason why not.
TEST(Mutants, AreAllThereOrHaveAReason) {
  std::set<std::string> ids;
  for (const Mutant& mutant : all_mutants()) {
    ids.insert(std::string(mutant.id.substr(0, 3)));
    const bool needs_reason = mutant.kind == Kind::control || mutant.kind == Kind::not_expressible;
    EXPECT_EQ(!mutant.reason.empty(), needs_reason) << mutant.id;
    EXPECT_FALSE(mutant.title.empty()) << mutant.id;
  }
  const std::map<char, int> kRows = {{'A', 27}, {'B', 20}, {'C', 22}, {'D', 19}, {'E', 18},
                                     {'F', 14}, {'G', 6},  {'H', 8},  {'N', 18}};
  for (const auto& [group, count] : kRows) {
    for (int number = 1; number <= count; ++number) {
      const std::string id = cat(group, number < 10 ? "0" : "", number);
      EXPECT_TRUE(ids.contains(id)) << id;
    }
  }
}

TEST(Mutants, HaveNamesOfTheirOwn) {
  std::set<std::string_view> ids;
  for (const Mutant& mutant : all_mutants()) {
    EXPECT_TRUE(ids.insert(mutant.id).second) << mutant.id;
  }
}

TEST(Mutants, StandForUpstreamErrorsByName) {
  for (const UpstreamError& error : upstream_errors()) {
    const Mutant* mutant = find_mutant(error.name);
    ASSERT_NE(mutant, nullptr) << error.name;
    EXPECT_EQ(mutant->id, error.mutant);
    EXPECT_EQ(mutant->kind, Kind::error) << error.name;
  }
  EXPECT_EQ(find_mutant("upstream:Z9"), nullptr);
}

Mutant dropped_drain() {
  return {.id = "X01",
          .title = "no drain",
          .config = gather(2, 2, 2),
          .mutation = {.edits = {{vector(Verb::drain), drop()}}},
          .code = FindingCode::race_inflight_dst,
          .object = "window-data",
          .sites = {"vector write_nbi", "cube load"}};
}

TEST(MutantRunner, MissesWhatIsNoError) {
  Mutant mutant = dropped_drain();
  mutant.mutation = {};
  EXPECT_EQ(MutantRunner(test_makers()).run(mutant).outcome, Outcome::missed);
}

TEST(MutantRunner, AsksForTheRightCode) {
  Mutant mutant = dropped_drain();
  EXPECT_EQ(MutantRunner(test_makers()).run(mutant).outcome, Outcome::diagnosed);
  mutant.code = FindingCode::race_waw;
  EXPECT_EQ(MutantRunner(test_makers()).run(mutant).outcome, Outcome::missed);
}

TEST(MutantRunner, AsksForTheRightObjectAndPlaces) {
  Mutant mutant = dropped_drain();
  mutant.object = "staging";
  EXPECT_EQ(MutantRunner(test_makers()).run(mutant).outcome, Outcome::detected);
  mutant = dropped_drain();
  mutant.sites[1] = "vector load";
  EXPECT_EQ(MutantRunner(test_makers()).run(mutant).outcome, Outcome::detected);
  // Two places are two, though one of them has the words of both.
  mutant.sites[1] = "vector write_nbi";
  EXPECT_EQ(MutantRunner(test_makers()).run(mutant).outcome, Outcome::detected);
}

TEST(MutantRunner, CallsAnErrorThatIsTakenForAControlAFalseAlarm) {
  Mutant mutant = dropped_drain();
  mutant.kind = Kind::control;
  mutant.object = {};
  EXPECT_EQ(MutantRunner(test_makers()).run(mutant).outcome, Outcome::false_alarm);
}

TEST(MutantRunner, RejectsARowWhoseCorrectProgramIsNotClean) {
  Mutant mutant = dropped_drain();
  mutant.config =
      mutant.config.with([](Problem& problem) { problem.barrier = BarrierLayout::single_slot; });
  EXPECT_EQ(MutantRunner(test_makers()).run(mutant).outcome, Outcome::false_alarm);
}

TEST(SoundConfigurations, RaiseNoAlarmAndSpeakForAllSchedules) {
  const SoundReport report = run_sound_configurations(test_makers(), 1, 400, {});
  EXPECT_EQ(report.run, 400);
  EXPECT_EQ(report.confluent, 400);
  for (const std::string& alarm : report.alarms) ADD_FAILURE() << alarm;
}

TEST(SoundConfigurations, AreTheSameForTheSameNumber) {
  std::set<std::string> seen;
  for (std::uint64_t index = 0; index < 50; ++index) {
    const std::string text = describe(draw_configuration(7, index));
    EXPECT_EQ(text, describe(draw_configuration(7, index)));
    seen.insert(text);
  }
  EXPECT_GT(seen.size(), 45u);
}

}  // namespace
}  // namespace tandem::check
