// SPDX-License-Identifier: Apache-2.0
// Which cases are run every day, and which are all of them.
#pragma once

#include <string_view>
#include <vector>

#include "case.h"

namespace tandem::differential {

struct Shape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

// Shapes on both sides of every boundary: tiles, groups of 32, pairs of 64, empty extents, fewer
// rows than ranks, more columns than one segment of the reduction.
extern const std::vector<Shape> kShapes;
extern const std::vector<int> kRankCounts;
extern const std::vector<int> kTileCounts;

// Cases of one operator in which every two values of different parameters meet: all parameters of
// a problem that the operator knows, both transports, all kinds of input, one or two workers.
std::vector<Case> everyday_cases(OperatorKind op);
// The same over a transport between hosts, copied where ranks do not share memory beside it.
std::vector<Case> everyday_cases_over(const std::string& transport, OperatorKind op);

// The full cross product of one operator, local matmul and R: element types, tiles, transposes,
// bias, shapes and transports. Cases that share their data follow each other.
std::vector<Case> full_cases(OperatorKind op, int local_matmul, int ranks);

}  // namespace tandem::differential
