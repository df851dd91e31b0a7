// SPDX-License-Identifier: Apache-2.0
// The cross product of operators, ranks, element types, tiles, local matmuls, transports,
// transposes, bias and shapes. Run it whole, by --gtest_filter, or in parts of equal work:
// TANDEM_CHUNK=2/5 takes the second of five, TANDEM_CASE=<seed> the cases of one seed.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/strings.h"
#include "harness.h"
#include "selection.h"

namespace tandem::differential {
namespace {

struct Chunk {
  int index = 1;
  int count = 1;
};

Chunk chunk() {
  Chunk chunk;
  const char* text = std::getenv("TANDEM_CHUNK");
  if (text == nullptr) return chunk;
  const bool parsed = std::sscanf(text, "%d/%d", &chunk.index, &chunk.count) == 2;
  if (!parsed || chunk.index < 1 || chunk.index > chunk.count) {
    ADD_FAILURE() << "TANDEM_CHUNK is " << text << "; use i/n with 1 <= i <= n";
  }
  return chunk;
}

// The part of the cases that belongs to the chunk. Cases that share their data stay together.
std::vector<Case> cases_of_chunk(const std::vector<Case>& all) {
  const Chunk part = chunk();
  const std::size_t tiles = kTileCounts.size();
  const char* wanted = std::getenv("TANDEM_CASE");
  std::vector<Case> cases;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (wanted != nullptr && all[i].seed != std::stoull(wanted)) continue;
    if (static_cast<int>(i / tiles % part.count) == part.index - 1) cases.push_back(all[i]);
  }
  return cases;
}

struct Matrix {
  const char* name;
  OperatorKind op;
  int local_matmul;
};
constexpr Matrix kMatrices[] = {
    {"AllToAllMatmulFused", OperatorKind::all_to_all_matmul, 0},
    {"AllToAllMatmulOwnPartFirst", OperatorKind::all_to_all_matmul, 1},
    {"AllToAllMatmulDeferredWait", OperatorKind::all_to_all_matmul, 2},
    {"AllGatherMatmul", OperatorKind::all_gather_matmul, 0},
    {"MatmulAllGather", OperatorKind::matmul_all_gather, 0},
    {"MatmulReduceScatter", OperatorKind::matmul_reduce_scatter, 0},
};

class Full : public testing::TestWithParam<std::tuple<Matrix, int>> {};

TEST_P(Full, EqualsTheReference) {
  const auto& [matrix, ranks] = GetParam();
  const std::vector<Case> cases = cases_of_chunk(full_cases(matrix.op, matrix.local_matmul, ranks));
  const auto total = static_cast<std::int64_t>(cases.size());
  Options options;
  options.launches = 1;
  options.progress = [&](std::int64_t done) {
    if (done * 10 / total == (done - 1) * 10 / total) return;
    std::printf("%s, R %d: %lld of %lld cases\n", matrix.name, ranks, static_cast<long long>(done),
                static_cast<long long>(total));
    std::fflush(stdout);
  };
  const Summary summary = run_cases(cases, options);
  EXPECT_TRUE(summary.failures.empty()) << summary.text();
  EXPECT_EQ(summary.cases, total);
  std::printf("%s, R %d: %lld of %lld cases passed, %lld elements compared\n", matrix.name, ranks,
              static_cast<long long>(summary.cases), static_cast<long long>(total),
              static_cast<long long>(summary.elements));
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, Full, testing::Combine(testing::ValuesIn(kMatrices), testing::ValuesIn(kRankCounts)),
    [](const auto& instance) {
      return cat(std::get<0>(instance.param).name, "R", std::get<1>(instance.param));
    });

}  // namespace
}  // namespace tandem::differential
