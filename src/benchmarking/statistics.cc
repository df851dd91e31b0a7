// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/statistics.h"

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

double median_of_sorted(const std::vector<double>& values) {
  if (values.empty()) return 0;
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return median_of_sorted(values);
}

BenchSpread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const double last = static_cast<double>(values.size() - 1);
    return values[static_cast<std::size_t>(std::lround(share * last))];
  };
  return {median_of_sorted(values), at(0.1), at(0.9)};
}

BenchRatio interval_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t count = values.size();
  // Terms of the binomial distribution by their logarithms: 2^-n underflows for many launches.
  const double log_half = static_cast<double>(count) * std::log(0.5);
  double below = 0;
  std::size_t skipped = 0;
  for (std::size_t i = 0; i < count / 2; ++i) {
    const double n = static_cast<double>(count);
    const double k = static_cast<double>(i);
    below += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + log_half);
    if (below > 0.025) break;
    skipped = i;
  }
  return {median_of_sorted(values), values[skipped], values[count - 1 - skipped]};
}

}  // namespace tandem
