// SPDX-License-Identifier: Apache-2.0
// Edits choose the calls that they name, and a recording that is played back is the program.
#include "check/mutants/mutation.h"

#include <gtest/gtest.h>

#include <string>

#include "check/mutants/data_flow.h"
#include "check/mutants/mutant_run.h"
#include "check/schedules.h"
#include "makers.h"

namespace tandem::check {
namespace {

constexpr const char* kFile = "src/ops/x/kernel.cc";

VerbRecord call(Verb verb, int line, int id = 0) {
  VerbRecord record;
  record.verb = verb;
  record.site = {kFile, line};
  record.id = id;
  return record;
}

// One rank, one block: the vector core's list.
WorldRecording world_of(VerbList calls) {
  return {{{CoreKind::cube, 0, 0, {}}, {CoreKind::vector, 0, 0, std::move(calls)}}};
}

// Numbers of flags, in order; drains are −1.
std::string ids_after(VerbList calls, const StreamEdit& what, int launch = 0) {
  WorldRecording world = world_of(std::move(calls));
  const Plan plan;
  edit(world, what, plan, launch);
  std::string text;
  for (const VerbRecord& one : world[0][1].verbs) {
    text += one.verb == Verb::drain ? "d" : std::to_string(one.id);
  }
  return text;
}

VerbList flags() {
  return {call(Verb::set_flag, 10, 1), call(Verb::drain, 20), call(Verb::set_flag, 30, 2),
          call(Verb::set_flag, 10, 3), call(Verb::drain, 20), call(Verb::set_flag, 30, 4)};
}

TEST(Where, ChoosesByPlaceInLineOrder) {
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).in("x/kernel.cc", 1), drop()}), "d2d4");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).in("x/kernel.cc", 2), drop()}), "1d3d");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).in("x/kernel.cc", 3), drop()}), "1d23d4");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).in("y/kernel.cc"), drop()}), "1d23d4");
}

TEST(Where, ChoosesByOccurrenceFromBothEnds) {
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).nth(2), drop()}), "1d3d4");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).nth(-1), drop()}), "1d23d");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).nth(9), drop()}), "1d23d4");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).from(3), drop()}), "1d2d");
}

TEST(Where, ChoosesByCoreLaunchAndArguments) {
  EXPECT_EQ(ids_after(flags(), {cube(Verb::set_flag), drop()}), "1d23d4");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).rank(1), drop()}), "1d23d4");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).launch(1), drop()}, 0), "1d23d4");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).launch(1), drop()}, 1), "dd");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).id(3), drop()}), "1d2d4");
}

TEST(Edit, MovesCalls) {
  EXPECT_EQ(ids_after(flags(), {vector(Verb::drain).nth(1), later(2)}), "123dd4");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::drain), earlier(1)}), "d12d34");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::drain), earlier(99)}), "dd1234");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::drain), behind_next(Verb::set_flag)}), "12d34d");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).id(4), before_previous(Verb::drain)}),
            "1d234d");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).nth(1), swap_with_next()}), "2d13d4");
}

TEST(Edit, AddsAndChangesCalls) {
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).id(3), duplicate()}), "1d233d4");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag), add_to_id(1)}), "2d34d5");
  EXPECT_EQ(ids_after(flags(), {vector(Verb::set_flag).id(2), id(9)}), "1d93d4");
}

std::vector<Configuration> some_configurations() {
  return {to_all(3, 3, 3), gather(3, 3, 4).slots(2), get_ring(2, 2, 4, 2), scatter(3, 6, 2)};
}

// Nothing is edited; the programs know and access the same.
TEST(Playback, IsTheProgramThatWasRecorded) {
  for (const Configuration& config : some_configurations()) {
    const BuiltProgram kernel = build(test_makers(), config, nullptr);
    const Mutation nothing{.edits = {{vector(Verb::drain).nth(1000), drop()}}};
    const BuiltProgram played = build(test_makers(), config, &nothing);
    DataFlow of_kernel(kernel.program);
    DataFlow of_played(played.program);
    const auto hash = HappensBefore::Hash::on;
    const RunReport first = run_checked(kernel.program, nullptr, hash, {&of_kernel});
    const RunReport second = run_checked(played.program, nullptr, hash, {&of_played});
    EXPECT_EQ(first.relation_hash, second.relation_hash);
    EXPECT_EQ(first.ops, second.ops);
    EXPECT_EQ(of_kernel.outcome(), of_played.outcome());
  }
}

TEST(Playback, RunsManyTimes) {
  const Mutation mutation{.edits = {{cube(Verb::gate).launch(1), drop()}}};
  const BuiltProgram built = build(test_makers(), gather(2, 2, 2), &mutation);
  const RunReport once = run_checked(built.program);
  const RunReport again = run_checked(built.program);
  EXPECT_FALSE(once.clean());
  EXPECT_EQ(once.findings.size(), again.findings.size());
  EXPECT_EQ(once.steps, again.steps);
}

TEST(DataFlow, IsTheSameInAllSchedulesOfACorrectProgram) {
  for (const Configuration& config : some_configurations()) {
    const BuiltProgram built = build(test_makers(), config, nullptr);
    DataFlow canonical(built.program);
    run_checked(built.program, nullptr, HappensBefore::Hash::off, {&canonical});
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      DataFlow other(built.program);
      const auto schedule =
          make_schedule({.strategy = ScheduleSpec::Strategy::random, .seed = seed});
      run_checked(built.program, schedule.get(), HappensBefore::Hash::off, {&other});
      EXPECT_EQ(other.outcome(), canonical.outcome()) << "seed " << seed;
    }
  }
}

// A slot that is not put again holds rows of two rounds before: read without a race, and wrong.
TEST(DataFlow, DiffersWhereOldRowsAreRead) {
  const Configuration config = gather(2, 3, 5).slots(2);
  const BuiltProgram correct = build(test_makers(), config, nullptr);
  const Mutation stale{
      .edits = {{vector(Verb::write_nbi).on(Buffer::window_data).nth(-1), drop()}}};
  const BuiltProgram wrong = build(test_makers(), config, &stale);
  DataFlow of_correct(correct.program);
  DataFlow of_wrong(wrong.program);
  run_checked(correct.program, nullptr, HappensBefore::Hash::off, {&of_correct});
  run_checked(wrong.program, nullptr, HappensBefore::Hash::off, {&of_wrong});
  EXPECT_NE(of_correct.outcome(), of_wrong.outcome());
}

}  // namespace
}  // namespace tandem::check
