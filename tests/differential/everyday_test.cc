// SPDX-License-Identifier: Apache-2.0
// Every operator, on processes and on threads, gives the bits of its reference: a selection in
// which any two values of different options meet. TANDEM_CASE=<seed> runs one case alone.
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness.h"
#include "host/transport/transport.h"
#include "selection.h"
#include "tandem/types.h"

namespace tandem::differential {
namespace {

void run_selection(OperatorKind op, std::vector<Case> cases) {
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

void run_everyday(OperatorKind op) { run_selection(op, everyday_cases(op)); }

// Every step-th case, by a way that ranks of several hosts take.
void run_over(const std::string& transport, OperatorKind op, std::uint64_t step) {
  std::vector<Case> cases = everyday_cases_over(transport, op);
  std::erase_if(cases, [step](const Case& one) { return one.seed % step != 0; });
  run_selection(op, std::move(cases));
}

TEST(Everyday, AllToAllMatmulEqualsItsReference) { run_everyday(OperatorKind::all_to_all_matmul); }

TEST(Everyday, AllGatherMatmulEqualsItsReference) { run_everyday(OperatorKind::all_gather_matmul); }

TEST(Everyday, MatmulAllGatherEqualsItsReference) { run_everyday(OperatorKind::matmul_all_gather); }

TEST(Everyday, MatmulReduceScatterEqualsItsReference) {
  run_everyday(OperatorKind::matmul_reduce_scatter);
}

TEST(EverydayLinks, AllToAllMatmulEqualsItsReferenceOverTcp) {
  run_over("tcp", OperatorKind::all_to_all_matmul, 3);
}

TEST(EverydayLinks, AllGatherMatmulEqualsItsReferenceOverTcp) {
  run_over("tcp", OperatorKind::all_gather_matmul, 3);
}

TEST(EverydayLinks, MatmulAllGatherEqualsItsReferenceOverTcp) {
  run_over("tcp", OperatorKind::matmul_all_gather, 3);
}

TEST(EverydayLinks, MatmulReduceScatterEqualsItsReferenceOverTcp) {
  run_over("tcp", OperatorKind::matmul_reduce_scatter, 3);
}

TEST(EverydayLinks, AllOperatorsEqualTheirReferencesBetweenNeighbours) {
  for (const auto& [op, name] : kEnumNames<OperatorKind>) run_over("tcp_shared", op, 9);
}

TEST(EverydayLinks, AllOperatorsEqualTheirReferencesOverUcx) {
  for (const host::TransportEntry& entry : host::all_transports()) {
    if (entry.name == "ucx" && entry.built == host::Built::no) {
      GTEST_SKIP() << "this build has no UCX; install libucx-dev";
    }
  }
  for (const auto& [op, name] : kEnumNames<OperatorKind>) run_over("ucx", op, 9);
}

}  // namespace
}  // namespace tandem::differential
