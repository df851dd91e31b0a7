// SPDX-License-Identifier: Apache-2.0
#include "tandem/checking.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/strings.h"
#include "check/explorer.h"
#include "check/mutants/mutants.h"
#include "check/schedules.h"
#include "checking/check_case.h"
#include "checking/check_table.h"
#include "checking/shrink_problem.h"
#include "checking/test_configurations.h"

namespace tandem {
namespace {

std::set<std::string> codes_of(const CheckReport& report) {
  std::set<std::string> codes;
  for (const CheckFinding& finding : report.findings) codes.insert(finding.code);
  return codes;
}

TEST(Check, EveryOperatorIsSoundWithValues) {
  for (OperatorKind op : kOperatorKinds) {
    for (int ranks : {1, 2, 3, 4, 5}) {
      for (std::int64_t tiles : {1, 2, 5, 17}) {
        EXPECT_EQ(alarm_of(small_case(op, ranks, tiles)), "");
      }
    }
  }
}

TEST(Check, EveryVariantThatIsMeantToBeRightIsSound) {
  for (OperatorKind op : kOperatorKinds) {
    for (const std::string& variant : sound_variants(op)) {
      for (int ranks : {2, 3}) {
        for (std::int64_t tiles : {3, 17}) {
          CheckOptions options = small_case(op, ranks, tiles);
          options.variant = variant;
          EXPECT_EQ(alarm_of(options), "");
        }
      }
    }
  }
}

TEST(Check, EveryCountOfBlocksIsSound) {
  for (OperatorKind op : kOperatorKinds) {
    for (int blocks : {1, 2, 3, 6}) {
      CheckOptions options = small_case(op, 3, 5);
      options.problem.blocks = blocks;
      EXPECT_EQ(alarm_of(options, blocks == 1 ? Refusals::allowed : Refusals::alarm), "");
    }
  }
}

TEST(Check, TransposedOperandsAndABiasAreSound) {
  for (OperatorKind op : kOperatorKinds) {
    CheckOptions options = small_case(op, 3, 5);
    options.problem.trans_a = true;
    options.problem.trans_b = true;
    options.problem.bias = true;
    EXPECT_EQ(alarm_of(options), "");
  }
}

TEST(Check, TheAcceleratorsPlansAreSoundWithEveryTail) {
  int ran = 0;
  for (OperatorKind op : kOperatorKinds) {
    for (TailStrategy tail : {TailStrategy::divide, TailStrategy::single, TailStrategy::pad}) {
      const CheckOptions options = device_case(op, 3, 32, tail);
      EXPECT_EQ(alarm_of(options, Refusals::allowed), "");
      try {
        ran += run_check(options).schedules;
      } catch (const Error&) {
      }
    }
  }
  EXPECT_GE(ran, 8) << "the planner refused too many of them";
}

TEST(Check, RowsLongerThanTheUnifiedBufferAreSoundInBothForms) {
  std::set<std::uint64_t> operations;
  for (StridedCopy strided : {StridedCopy::rows32, StridedCopy::single}) {
    CheckOptions options = device_case(OperatorKind::matmul_reduce_scatter, 2, 32, {});
    options.problem.m = 64;
    options.problem.n = 16'384;
    options.problem.strided = strided;
    options.launches = 1;
    const CheckReport report = run_check(options);
    EXPECT_EQ(report.verdict, CheckVerdict::sound) << check_text(report);
    operations.insert(report.ops);
  }
  EXPECT_EQ(operations.size(), 2u) << "rows are copied together in one form, alone in the other";
}

TEST(Check, QueuesOfOneOperationAreSound) {
  for (OperatorKind op : kOperatorKinds) {
    CheckOptions options = small_case(op, 3, 5);
    options.profile.queue_depth = 1;
    EXPECT_EQ(alarm_of(options), "");
  }
}

TEST(Check, AllFormsOfSchedulesGiveOneHappensBeforeRelation) {
  for (OperatorKind op : kOperatorKinds) {
    CheckOptions options = small_case(op, 2, 3);
    options.data = CheckData::footprint;
    CheckCase made(options);
    for (check::Strategy strategy : {check::Strategy::random, check::Strategy::pct}) {
      const check::Exploration found = check::explore(
          made.program(),
          {.strategy = strategy, .schedules = 150, .hash = check::HappensBefore::Hash::on},
          [&](sim::Schedule* schedule, const std::vector<sim::Observer*>& more) {
            return made.run(schedule, check::HappensBefore::Hash::on, more);
          });
      EXPECT_EQ(found.schedules, 151);
      EXPECT_EQ(found.relations.size(), 1u) << to_string(op);
      EXPECT_TRUE(found.report.clean());
    }
  }
}

TEST(Check, ValuesAreRightInOtherSchedulesToo) {
  for (OperatorKind op : kOperatorKinds) {
    for (CheckStrategy strategy :
         {CheckStrategy::random, CheckStrategy::pct, CheckStrategy::starve}) {
      CheckOptions options = small_case(op, 3, 3);
      options.strategy = strategy;
      options.schedules = 25;
      EXPECT_EQ(alarm_of(options), "");
    }
  }
}

CheckOptions single_slot() {
  CheckOptions options = small_case(OperatorKind::all_to_all_matmul, 3, 3);
  options.variant = "single-slot-barrier";
  return options;
}

TEST(Check, TheSingleSlotBarrierIsFoundAndNotConfluent) {
  const CheckReport report = run_check(single_slot());
  EXPECT_EQ(report.verdict, CheckVerdict::findings);
  EXPECT_TRUE(codes_of(report).contains("BARRIER-MERGED"));
  EXPECT_TRUE(codes_of(report).contains("RACE-RAW"));
  EXPECT_FALSE(report.confluent);
  EXPECT_EQ(exit_code(report), 4);
  EXPECT_FALSE(report.notes.empty());
}

TEST(Check, TheSingleSlotBarrierHasSeveralHappensBeforeRelations) {
  CheckOptions options = single_slot();
  options.data = CheckData::footprint;
  CheckCase made(options);
  std::set<std::uint64_t> relations;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    check::ScheduleSpec spec;
    spec.strategy = check::ScheduleSpec::Strategy::random;
    spec.seed = seed;
    const auto schedule = check::make_schedule(spec);
    relations.insert(made.run(schedule.get(), check::HappensBefore::Hash::on, {}).relation_hash);
  }
  EXPECT_GT(relations.size(), 1u);
}

TEST(Check, AWeakDrainIsReported) {
  CheckOptions options = small_case(OperatorKind::all_gather_matmul, 2, 2);
  options.profile.weak_drain = true;
  EXPECT_TRUE(codes_of(run_check(options)).contains("RACE-INFLIGHT-DST"));
}

TEST(Check, AFindingIsShrunkAndItsCommandNamesTheSmallCase) {
  CheckOptions options = single_slot();
  options.problem.ranks = 4;
  options.problem.tiles = 9;
  options.shrink = CheckShrink::on;
  const CheckReport report = run_check(options);
  EXPECT_NE(report.smallest, report.reproduce);
  EXPECT_NE(report.smallest.find(" -R 2 -m 1 "), std::string::npos) << report.smallest;
  EXPECT_NE(report.smallest.find("--launches 1"), std::string::npos) << report.smallest;
}

TEST(Check, ShrinkingKeepsWhatIsNeeded) {
  CheckOptions options = small_case(OperatorKind::all_gather_matmul, 8, 40);
  options.problem.blocks = 9;
  const CheckOptions small = shrink_options(
      options,
      [](const CheckOptions& candidate) {
        return candidate.problem.ranks >= 3 && *candidate.problem.tiles >= 5 &&
               candidate.problem.m >= 7 && candidate.launches >= 2;
      },
      1000);
  EXPECT_EQ(small.problem.ranks, 3);
  EXPECT_EQ(*small.problem.tiles, 5);
  EXPECT_EQ(*small.problem.blocks, 1);
  EXPECT_EQ(small.launches, 2);
  EXPECT_LT(small.problem.m, 14);
}

TEST(Check, AReportIsTheSameTheSecondTime) {
  CheckOptions options = single_slot();
  options.shrink = CheckShrink::on;
  const CheckReport one = run_check(options);
  CheckReport other = run_check(options);
  EXPECT_EQ(check_text(one), check_text(other));
  other.seconds = one.seconds;
  EXPECT_EQ(check_json(options, one), check_json(options, other));
}

TEST(Check, AScheduleIsReplayedFromItsToken) {
  CheckOptions options = small_case(OperatorKind::matmul_reduce_scatter, 2, 3);
  for (const char* token : {"random:7", "pct:2:900:3", "starve:channels", "turns"}) {
    options.replay = token;
    const CheckReport report = run_check(options);
    EXPECT_EQ(report.token, token);
    EXPECT_EQ(report.verdict, CheckVerdict::sound);
    EXPECT_EQ(report.schedules, 1);
  }
  options.replay = "nonsense";
  EXPECT_THROW(run_check(options), Error);
}

TEST(Check, RowsOfTheDocumentedTableAreWhatTheyWere) {
  std::ifstream file(TANDEM_DOCS_DIR "/checker-table.md");
  ASSERT_TRUE(file);
  std::ostringstream text;
  text << file.rdbuf();
  for (OperatorKind op : kOperatorKinds) {
    for (const char* variant : {"", "single-slot-barrier"}) {
      for (const char* device : {"host", "ascend950pr"}) {
        const std::string row = check_table_row(op, variant, device);
        EXPECT_NE(text.str().find(row), std::string::npos) << row;
      }
    }
  }
}

TEST(Check, ErrorsOfTheOriginalDesignAreFoundByTheirVariantsAndGoneWithoutThem) {
  for (const check::UpstreamError& error : check::upstream_errors()) {
    CheckOptions named;
    named.variant = error.name;
    CheckOptions options = own_case(named);
    options.shrink = CheckShrink::off;
    const CheckReport report = run_check(options);
    EXPECT_EQ(exit_code(report), 4) << error.name;
    EXPECT_NE(report.reproduce.find(cat("--variant ", error.name)), std::string::npos);
    options.variant.clear();
    EXPECT_EQ(alarm_of(options), "") << error.name;
    options.data = CheckData::values;
    EXPECT_EQ(alarm_of(options), "") << error.name;
  }
}

TEST(Check, SoundOperatorsHaveNoLintsAndSlowFormsHave) {
  for (OperatorKind op : kOperatorKinds) {
    for (int ranks : {1, 2, 4}) {
      CheckOptions options = small_case(op, ranks, 3);
      options.problem.blocks = 6;
      EXPECT_EQ(run_check(options).lints, std::vector<std::string>{}) << to_string(op);
    }
  }
  CheckOptions options = small_case(OperatorKind::matmul_reduce_scatter, 2, 1);
  options.problem.blocks = 2;
  options.variant = "reduction-by-rows";
  const CheckReport report = run_check(options);
  EXPECT_EQ(report.verdict, CheckVerdict::sound);
  ASSERT_EQ(report.lints.size(), 2u);
  EXPECT_NE(check_text(report).find("lint: PERF-SINGLE-CORE: 1 of 2"), std::string::npos);
  EXPECT_NE(check_text(report).find("lint: PERF-ROWWISE: "), std::string::npos);
}

TEST(Check, WhatNoProblemCanHaveIsRefusedAtOnce) {
  CheckOptions options = small_case(OperatorKind::all_gather_matmul, 2, 2);
  options.launches = 0;
  options.schedules = -1;
  options.profile.queue_depth = 0;
  options.variant = "shared-cores";
  options.mutant = "Z99";
  options.device = "toaster";
  options.replay = "sideways";
  try {
    run_check(options);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const char* word : {"launches is 0", "schedules is -1", "queue depth is 0", "shared-cores",
                             "'Z99'", "toaster", "'sideways'"}) {
      EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
    }
  }
  options = small_case(OperatorKind::all_gather_matmul, 2, 2);
  options.mutant = "A01";
  options.variant = "upstream:A1";
  EXPECT_THROW(validate(options), Error);
  options.mutant = "";
  EXPECT_NO_THROW(validate(options));
  options.variant = "upstream:A5";  // a form of matmul-all-gather
  EXPECT_THROW(validate(options), Error);
}

// The hold-up is the cube core that owns no tile: its row of the list of mutants.
TEST(Check, AMutantIsFoundInItsOwnCase) {
  const CheckReport report = run_check(mutant_options("A01"));
  EXPECT_EQ(report.verdict, CheckVerdict::deadlock);
  EXPECT_EQ(codes_of(report), std::set<std::string>{"DEADLOCK"});
  EXPECT_NE(report.smallest.find("-R 1 -m 1 "), std::string::npos) << report.smallest;
}

TEST(Check, WhatStaysOpenIsAFindingToo) {
  CheckOptions options = mutant_options("N10");  // two ranks add to one place
  for (CheckStrategy strategy : {CheckStrategy::canonical, CheckStrategy::exhaustive}) {
    options.strategy = strategy;
    options.schedules = 20;
    const CheckReport report = run_check(options);
    EXPECT_EQ(report.verdict, CheckVerdict::explored);
    EXPECT_EQ(codes_of(report), std::set<std::string>{"NONCONFLUENT"});
    EXPECT_EQ(exit_code(report), 4);
    EXPECT_FALSE(report.doubts.empty());
  }
}

TEST(Check, RefusesWhatHasNoPlanOrNoName) {
  CheckOptions options = small_case(OperatorKind::all_gather_matmul, 0, 2);
  EXPECT_THROW(run_check(options), Error);
  options = small_case(OperatorKind::all_gather_matmul, 2, 2);
  options.variant = "no-such-variant";
  EXPECT_THROW(run_check(options), Error);
  options.variant = "shared-cores";  // of another operator
  EXPECT_THROW(run_check(options), Error);
  options.variant = "";
  options.mutant = "no-such-mutant";
  EXPECT_THROW(run_check(options), Error);
  options.mutant = "";
  options.launches = 0;
  EXPECT_THROW(run_check(options), Error);
}

TEST(Check, ItsCommandLineSaysEverythingThatIsNotTheDefault) {
  CheckOptions options = small_case(OperatorKind::matmul_all_gather, 3, 4);
  options.problem.bias = true;
  options.problem.slots = 2;
  options.launches = 3;
  options.seed = 9;
  options.data = CheckData::footprint;
  options.profile.queue_depth = 1;
  options.replay = "turns:3@1.S";
  EXPECT_EQ(check_command(options),
            "tandem check matmul-all-gather -R 3 -m 13 -n 16 -k 72 --bias --tiles 4 --slots 2 "
            "--launches 3 --seed 9 --footprint --queue-depth 1 --replay 'turns:3@1.S'");
}

TEST(Check, TheComparisonWithTheReferenceCanFail) {
  CheckOptions options = small_case(OperatorKind::all_gather_matmul, 2, 2);
  CheckCase made(options);
  sim::Program wrong = made.program();
  const auto before = wrong.before;
  wrong.before = [before](sim::Machine& machine, int rank, int launch) {
    before(machine, rank, launch);
    machine.memory(rank, Buffer::a)[0] ^= std::byte{0x41};
  };
  int compared = 0;
  const auto after = wrong.after;
  wrong.after = [&compared, after](sim::Machine& machine, int rank, int launch) {
    after(machine, rank, launch);
    ++compared;
  };
  const check::RunReport report = check::run_checked(wrong);
  EXPECT_EQ(compared, 4);
  EXPECT_TRUE(report.clean());  // addresses are right
  EXPECT_FALSE(made.wrong_values().empty());
}

}  // namespace
}  // namespace tandem
