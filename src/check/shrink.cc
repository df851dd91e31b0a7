// SPDX-License-Identifier: Apache-2.0
#include "check/shrink.h"

#include <algorithm>

namespace tandem::check {

std::vector<Deviation> shrink_deviations(
    std::vector<Deviation> deviations,
    const std::function<bool(const std::vector<Deviation>&)>& fails, int runs_max) {
  int runs = 0;
  if (!deviations.empty() && runs_max > 0 && fails({})) return {};
  ++runs;
  std::size_t parts = 2;
  while (deviations.size() > 1 && runs < runs_max) {
    const std::size_t size = (deviations.size() + parts - 1) / parts;
    bool smaller = false;
    for (std::size_t first = 0; first < deviations.size() && runs < runs_max; first += size) {
      const std::size_t end = std::min(first + size, deviations.size());
      std::vector<Deviation> rest(deviations.begin(), deviations.begin() + first);
      rest.insert(rest.end(), deviations.begin() + end, deviations.end());
      ++runs;
      if (!fails(rest)) continue;
      deviations = std::move(rest);
      parts = std::max<std::size_t>(2, parts - 1);
      smaller = true;
      break;
    }
    if (smaller) continue;
    if (parts >= deviations.size()) break;
    parts = std::min(deviations.size(), parts * 2);
  }
  return deviations;
}

}  // namespace tandem::check
