// SPDX-License-Identifier: Apache-2.0
// Every operator, on processes and on threads, gives the bits of its reference: a selection in
// which any two values of different options meet. TANDEM_CASE=<seed> runs one case alone.
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness.h"
#include "selection.h"
#include "tandem/types.h"

namespace tandem::differential {
namespace {

void run_everyday(OperatorKind op) {
  std::vector<Case> cases = everyday_cases(op);
  if (const char* wanted = std::getenv("TANDEM_CASE")) {
    std::erase_if(cases, [&](const Case& one) { return one.seed != std::stoull(wanted); });
  }
  const Summary summary = run_cases(cases);
  EXPECT_TRUE(summary.failures.empty()) << summary.text();
  EXPECT_EQ(summary.cases, static_cast<std::int64_t>(cases.size()));
  EXPECT_GT(summary.elements, 0);
  std::printf("%s: %zu cases, %lld elements\n", std::string(to_string(op)).c_str(), cases.size(),
              static_cast<long long>(summary.elements));
}

TEST(Everyday, AllToAllMatmulEqualsItsReference) { run_everyday(OperatorKind::all_to_all_matmul); }

TEST(Everyday, AllGatherMatmulEqualsItsReference) { run_everyday(OperatorKind::all_gather_matmul); }

TEST(Everyday, MatmulAllGatherEqualsItsReference) { run_everyday(OperatorKind::matmul_all_gather); }

TEST(Everyday, MatmulReduceScatterEqualsItsReference) {
  run_everyday(OperatorKind::matmul_reduce_scatter);
}

}  // namespace
}  // namespace tandem::differential
