// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/benchmarking.h"

namespace tandem {

// 0 for no values.
double median_of(std::vector<double> values);
// Median, 10 % and 90 % by nearest rank.
BenchSpread spread_of(std::vector<double> values);
// Median, and the order statistics between which the true median lies with 95 % or more, whatever
// the distribution: the k-th smallest and largest, k the largest with P(Binomial(n, 1/2) < k) ≤
// 2.5 %. All values where there are fewer than six.
BenchRatio interval_of(std::vector<double> values);

}  // namespace tandem
