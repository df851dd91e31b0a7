// SPDX-License-Identifier: Apache-2.0
// A small set of combinations in which every two values of different parameters meet.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::differential {

// One index of a value for each parameter.
using Combination = std::vector<int>;

// Combinations that hold every pair of values, for parameters with `counts` values each. Greedy:
// each one takes the values that complete most new pairs. The same seed gives the same set.
std::vector<Combination> all_pairs(const std::vector<int>& counts, std::uint64_t seed);

}  // namespace tandem::differential
