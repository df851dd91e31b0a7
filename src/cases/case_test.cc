// SPDX-License-Identifier: Apache-2.0
#include "tandem/case.h"

#include <gtest/gtest.h>

#include <mutex>

namespace tandem {
namespace {

CaseOptions small_case(OperatorKind op, int ranks) {
  CaseOptions options;
  options.problem = {.op = op, .ranks = ranks, .m = 19, .n = 23, .k = 70};
  return options;
}

WorldOptions threads() {
  WorldOptions world;
  world.transport = "threads";
  return world;
}

TEST(RunCases, AnswersEachCaseInItsPlace) {
  std::vector<CaseOptions> cases;
  for (const auto& [op, name] : kEnumNames<OperatorKind>) cases.push_back(small_case(op, 3));
  cases[1].problem.m = -1;
  cases.insert(cases.begin() + 3, small_case(OperatorKind::all_gather_matmul, 2));
  CaseOptions unknown = small_case(OperatorKind::all_gather_matmul, 2);
  unknown.operator_name = "matmul-all-reduce";
  unknown.reasons = {"not built"};
  cases.push_back(unknown);

  const std::vector<CaseResult> results = run_cases(threads(), cases);
  ASSERT_EQ(results.size(), 6u);
  for (int i : {0, 2, 3, 4}) {
    EXPECT_EQ(results[i].verdict, Verdict::pass) << i;
    EXPECT_EQ(results[i].exit_code, 0);
    EXPECT_EQ(results[i].exact_rows, results[i].rows);
  }
  EXPECT_EQ(results[3].problem.ranks, 2);
  EXPECT_EQ(results[3].elements, 2 * 2 * 19 * 23);
  EXPECT_EQ(results[1].verdict, Verdict::refused);
  EXPECT_EQ(results[1].exit_code, 2);
  EXPECT_EQ(results[5].verdict, Verdict::refused);
  EXPECT_EQ(results[5].operator_name, "matmul-all-reduce");
  EXPECT_EQ(results[5].messages, std::vector<std::string>{"not built"});
  EXPECT_EQ(verdict_line(results), "PASS 4/4 (2 refused)");
  EXPECT_EQ(exit_code_of(results), 0);
  EXPECT_EQ(exit_code_of({results[1], results[5]}), 2);
}

TEST(RunCases, TellsWhatItIsDoing) {
  std::mutex mutex;
  std::vector<std::string> lines;
  const CaseOptions options = small_case(OperatorKind::matmul_all_gather, 2);
  run_case(threads(), options, [&](const std::string& line) {
    const std::scoped_lock lock(mutex);
    lines.push_back(line);
  });
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0], command_line(threads(), options));
}

TEST(RunCases, SpreadsTheExactProductOverTheRowsItCanAfford) {
  CaseOptions options = small_case(OperatorKind::matmul_all_gather, 2);
  options.exact_work_max = 1;
  const CaseResult result = run_case(threads(), options);
  EXPECT_EQ(result.verdict, Verdict::pass);
  EXPECT_EQ(result.rows, 38);
  EXPECT_EQ(result.exact_rows, 38) << "one step has all rows of so small a case";
}

TEST(ExitCode, IsTheGravestOfTheCases) {
  const auto result = [](Verdict verdict, int code) {
    CaseResult made;
    made.verdict = verdict;
    made.exit_code = code;
    return made;
  };
  const CaseResult pass = result(Verdict::pass, 0);
  const CaseResult wrong = result(Verdict::fail, 1);
  const CaseResult lacking = result(Verdict::failed, 5);
  const CaseResult lost = result(Verdict::failed, 3);
  const CaseResult interrupted = result(Verdict::failed, 130);
  const CaseResult bug = result(Verdict::failed, 134);
  EXPECT_EQ(exit_code_of({}), 2);
  EXPECT_EQ(exit_code_of({pass, wrong, pass}), 1);
  EXPECT_EQ(exit_code_of({wrong, lacking}), 5);
  EXPECT_EQ(exit_code_of({lost, lacking, wrong}), 3);
  EXPECT_EQ(exit_code_of({lost, interrupted}), 130);
  EXPECT_EQ(exit_code_of({bug, interrupted, lost}), 134);
  EXPECT_EQ(verdict_line({pass, wrong, lost}), "FAIL 1/3");
}

TEST(CommandLine, QuotesWhatAShellWouldSplit) {
  CaseOptions options = small_case(OperatorKind::all_gather_matmul, 3);
  options.files.a = "my file's.npy";
  EXPECT_EQ(command_line({}, options),
            "tandem run all-gather-matmul -R 3 -m 19 -n 23 -k 70 --input normal --seed 1 "
            "--a 'my file'\\''s.npy'");
}

TEST(ScaleExtent, KeepsWhatIsOddOdd) {
  // max(1, x / d), plus 1 if x mod 32 ≠ 0 and (x / d) mod 32 = 0.
  EXPECT_EQ(scale_extent(4096, 8), 512);
  EXPECT_EQ(scale_extent(2061, 8), 257);
  EXPECT_EQ(scale_extent(2056, 8), 257);
  EXPECT_EQ(scale_extent(4100, 8), 513);
  EXPECT_EQ(scale_extent(270, 8), 33);
  EXPECT_EQ(scale_extent(263, 8), 33);
  EXPECT_EQ(scale_extent(5, 8), 1);
  EXPECT_EQ(scale_extent(0, 8), 1);
  EXPECT_EQ(scale_extent(4099, 1), 4099);
}

}  // namespace
}  // namespace tandem
