// SPDX-License-Identifier: Apache-2.0
#include "check/lints.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "check/run.h"
#include "sim/test_program.h"

namespace tandem::check {
namespace {

std::string joined(const std::vector<std::string>& lints) {
  std::string text;
  for (const std::string& lint : lints) text += lint.substr(0, lint.find(':')) + " ";
  return text;
}

Plan reduction_plan(int cores, std::int64_t batch_rows) {
  Plan plan;
  plan.problem.op = OperatorKind::matmul_reduce_scatter;
  plan.problem.n = 64;
  plan.ranks = 2;
  plan.blocks = 4;
  plan.slices = {{0, 20}, {20, 19}};
  plan.reduction.cores = cores;
  plan.reduction.batch_rows = batch_rows;
  plan.reduction.segment_columns = 64;
  return plan;
}

TEST(Lints, SayWhatIsSlowOrInexactByDesign) {
  EXPECT_EQ(joined(lints_of_plan(reduction_plan(2, 10))), "");
  EXPECT_EQ(joined(lints_of_plan(reduction_plan(1, 10))), "PERF-SINGLE-CORE ");
  Plan rows = reduction_plan(2, 1);
  rows.problem.reduction = ReductionForm::rows;
  EXPECT_EQ(joined(lints_of_plan(rows)), "PERF-ROWWISE ");
  Plan calls = reduction_plan(2, 10);
  calls.problem.product = ProductForm::subcalls;
  EXPECT_EQ(joined(lints_of_plan(calls)), "PERF-SCALAR ");
  Plan adds;
  adds.ranks = 2;
  adds.problem.op = OperatorKind::all_to_all_matmul;
  adds.problem.local_matmul = 1;
  EXPECT_EQ(joined(lints_of_plan(adds)), "PREC-BF16-ACC ");
  adds.problem.dtype_c = OutputType::fp32;
  EXPECT_EQ(joined(lints_of_plan(adds)), "");
}

// Rank 0 tells rank 1 and is not told: nobody waits for its second word.
TEST(Lints, NameAWordThatNobodyWaitsFor) {
  const auto run = [](bool waits) {
    sim::TestKernels kernels;
    kernels.vector = [waits](VectorCore& core) {
      const EpochSlot slot{EpochSlot::Kind::arrived, 0};
      if (core.rank() == 0) core.store_epoch(1, slot, 1);
      if (core.rank() == 1 && waits) core.wait_epoch(slot, 1);
    };
    UnheardWords unheard;
    run_checked(sim::make_program(2, 1, kernels), nullptr, HappensBefore::Hash::off, {&unheard});
    return unheard.lints();
  };
  EXPECT_TRUE(run(true).empty());
  ASSERT_EQ(run(false).size(), 1u);
  EXPECT_EQ(run(false)[0], "WORD-UNHEARD: rank 1's word of peer 0");
}

TEST(Lints, StandInTheDocument) {
  std::stringstream text;
  text << std::ifstream(TANDEM_DOCS_DIR "/checker.md").rdbuf();
  for (const LintHelp& help : all_lints()) {
    EXPECT_NE(text.str().find("| " + std::string(help.code) + " |"), std::string::npos)
        << help.code;
  }
}

}  // namespace
}  // namespace tandem::check
