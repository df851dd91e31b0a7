// SPDX-License-Identifier: Apache-2.0
// How an axis is shared out over ranks: docs/numerics.md, section 2.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "base/view.h"

namespace tandem {

// Part `index` of `total` elements over `parts`: sizes differ by at most one, the larger first.
constexpr Slice split_evenly(std::int64_t total, std::int64_t parts, std::int64_t index) {
  const std::int64_t size = total / parts;
  const std::int64_t larger = total % parts;
  return {index * size + std::min(index, larger), size + (index < larger ? 1 : 0)};
}

// The part of K that `rank` owns: whole pieces of 64, the last one may be short.
constexpr Slice split_k(std::int64_t k, std::int64_t ranks, std::int64_t rank) {
  const Slice pieces = split_evenly(ceil_div(k, 64), ranks, rank);
  const std::int64_t first = std::min(k, pieces.first * 64);
  return {first, std::min(k, pieces.end() * 64) - first};
}

}  // namespace tandem
