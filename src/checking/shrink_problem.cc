// SPDX-License-Identifier: Apache-2.0
#include "checking/shrink_problem.h"

#include <optional>
#include <vector>

namespace tandem {
namespace {

// The steps that one round of shrinking tries, large ones first. Each returns whether it changed
// anything.
using Step = bool (*)(CheckOptions&);

template <typename T>
bool lower(T& value, T to, T floor) {
  if (to < floor) to = floor;
  if (to >= value) return false;
  value = to;
  return true;
}

bool lower(std::optional<std::int64_t>& value, std::int64_t by) {
  return value && lower<std::int64_t>(*value, by == 0 ? *value / 2 : *value - by, 1);
}

constexpr Step kSteps[] = {
    [](CheckOptions& o) { return lower(o.problem.ranks, o.problem.ranks / 2, 1); },
    [](CheckOptions& o) { return lower(o.problem.ranks, o.problem.ranks - 1, 1); },
    [](CheckOptions& o) { return lower(o.problem.tiles, 0); },
    [](CheckOptions& o) { return lower(o.problem.tiles, 1); },
    [](CheckOptions& o) {
      return o.problem.blocks && lower(*o.problem.blocks, *o.problem.blocks / 2, 1);
    },
    [](CheckOptions& o) {
      return o.problem.blocks && lower(*o.problem.blocks, *o.problem.blocks - 1, 1);
    },
    [](CheckOptions& o) { return lower<std::int64_t>(o.problem.m, o.problem.m / 2, 1); },
    [](CheckOptions& o) { return lower<std::int64_t>(o.problem.n, o.problem.n / 2, 1); },
    [](CheckOptions& o) { return lower<std::int64_t>(o.problem.k, o.problem.k / 2, 1); },
    [](CheckOptions& o) { return lower(o.launches, 1, 1); },
};

}  // namespace

CheckOptions shrink_options(CheckOptions options,
                            const std::function<bool(const CheckOptions&)>& fails, int runs_max) {
  int runs = 0;
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (const Step step : kSteps) {
      while (runs < runs_max) {
        CheckOptions candidate = options;
        if (!step(candidate)) break;
        ++runs;
        if (!fails(candidate)) break;
        options = candidate;
        smaller = true;
      }
    }
  }
  return options;
}

}  // namespace tandem
