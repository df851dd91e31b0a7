// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"

namespace tandem {
namespace {

std::vector<double> first_numbers(int count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

// For n = 20, P(Binomial(20, 1/2) ≤ 5) = 2.07 % and ≤ 6 is 5.8 %: the sixth smallest and largest.
TEST(IntervalOf, TwentyValuesGiveTheSixthSmallestAndLargest) {
  const BenchRatio interval = interval_of(first_numbers(20));
  EXPECT_EQ(interval.median, 10.5);
  EXPECT_EQ(interval.low, 6);
  EXPECT_EQ(interval.high, 15);
}

TEST(IntervalOf, FewerThanSixValuesGiveAllOfThem) {
  const BenchRatio interval = interval_of(first_numbers(5));
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 5);
}

TEST(IntervalOf, FourThousandValuesDoNotUnderflow) {
  const BenchRatio interval = interval_of(first_numbers(4000));
  // Normal approximation: 2000 ± 1.96 · sqrt(4000) / 2 = 2000 ± 62.
  EXPECT_NEAR(interval.low, 1938, 3);
  EXPECT_NEAR(interval.high, 2063, 3);
}

// In at least 95 of 100 draws the interval holds the true median, here 0.5.
TEST(IntervalOf, HoldsTheTrueMedianInNineteenOfTwentyDraws) {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Rng rng(seed);
    std::vector<double> values;
    for (int i = 0; i < 25; ++i) values.push_back(static_cast<double>(rng.below(1000)) / 1000);
    const BenchRatio interval = interval_of(values);
    if (interval.low <= 0.5 && interval.high >= 0.5) ++held;
  }
  EXPECT_GE(held, 940);
}

TEST(SpreadOf, TenPercentLieOutsideOnEachSide) {
  const BenchSpread spread = spread_of(first_numbers(101));
  EXPECT_EQ(spread.median, 51);
  EXPECT_EQ(spread.low, 11);
  EXPECT_EQ(spread.high, 91);
  EXPECT_EQ(spread_of({}).median, 0);
}

}  // namespace
}  // namespace tandem
