// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "tandem/problem.h"

namespace tandem {

struct Extents {
  std::int64_t m = 0, n = 0, k = 0;
};

inline Problem problem_of(OperatorKind op, int ranks, const Extents& extents) {
  Problem problem;
  problem.op = op;
  problem.ranks = ranks;
  problem.m = extents.m;
  problem.n = extents.n;
  problem.k = extents.k;
  return problem;
}

// The problem as the command line says it: what differs from the defaults.
inline std::string describe(const Problem& problem) {
  std::string text = cat(to_string(problem.op), " -R ", problem.ranks, " -m ", problem.m, " -n ",
                         problem.n, " -k ", problem.k);
  const Problem plain;
  const auto option = [&](std::string_view name, const auto& value, const auto& usual) {
    if (value != usual) text += cat(" --", name, " ", value);
  };
  const auto word = [&](std::string_view name, const auto& value, const auto& usual) {
    if (value != usual) text += cat(" --", name, " ", to_string(value));
  };
  if (problem.tiles) text += cat(" --tiles ", *problem.tiles);
  if (problem.tile_rows) text += cat(" --tile-rows ", *problem.tile_rows);
  if (problem.blocks) text += cat(" --blocks ", *problem.blocks);
  option("local-matmul", problem.local_matmul, plain.local_matmul);
  option("slots", problem.slots, plain.slots);
  option("bias", problem.bias, plain.bias);
  word("cores", problem.cores, plain.cores);
  word("flags", problem.flags, plain.flags);
  word("reduction", problem.reduction, plain.reduction);
  word("product", problem.product, plain.product);
  word("ub", problem.ub, plain.ub);
  word("strided", problem.strided, plain.strided);
  word("barrier", problem.barrier, plain.barrier);
  word("fence", problem.fence, plain.fence);
  word("staging", problem.staging, plain.staging);
  word("dtype-c", problem.dtype_c, plain.dtype_c);
  word("tail", problem.tail, plain.tail);
  word("transfer", problem.transfer, plain.transfer);
  return text;
}

}  // namespace tandem
