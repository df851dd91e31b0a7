// SPDX-License-Identifier: Apache-2.0
#include "all_pairs.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace tandem::differential {
namespace {

const std::vector<int> kCounts = {6, 4, 7, 2, 2, 2, 2, 3, 13, 3, 2, 4};

TEST(AllPairs, HoldsEveryPairOfValues) {
  std::set<std::tuple<std::size_t, int, std::size_t, int>> seen;
  for (const Combination& combination : all_pairs(kCounts, 1)) {
    ASSERT_EQ(combination.size(), kCounts.size());
    for (std::size_t p = 0; p < kCounts.size(); ++p) {
      ASSERT_GE(combination[p], 0);
      ASSERT_LT(combination[p], kCounts[p]);
      for (std::size_t q = p + 1; q < kCounts.size(); ++q) {
        seen.insert({p, combination[p], q, combination[q]});
      }
    }
  }
  std::size_t pairs = 0;
  for (std::size_t p = 0; p < kCounts.size(); ++p) {
    for (std::size_t q = p + 1; q < kCounts.size(); ++q) pairs += kCounts[p] * kCounts[q];
  }
  EXPECT_EQ(seen.size(), pairs);
}

TEST(AllPairs, IsSmallAndTheSameForTheSameSeed) {
  const auto combinations = all_pairs(kCounts, 7);
  EXPECT_GE(combinations.size(), 13u * 7u);  // the two largest parameters alone need as many
  EXPECT_LE(combinations.size(), 13u * 7u * 2);
  EXPECT_EQ(combinations, all_pairs(kCounts, 7));
}

}  // namespace
}  // namespace tandem::differential
