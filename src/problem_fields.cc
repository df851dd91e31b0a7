// SPDX-License-Identifier: Apache-2.0
#include "problem_fields.h"

#include "tandem/types.h"

namespace tandem {
namespace {

template <typename T>
std::string number_or(const std::optional<T>& value, const char* otherwise) {
  return value ? std::to_string(*value) : otherwise;
}

std::string word(std::string_view text) { return std::string(text); }
std::string yes_no(bool value) { return value ? "yes" : "no"; }

}  // namespace

std::vector<std::pair<std::string, std::string>> problem_fields(const Problem& problem) {
  return {
      {"operator", word(to_string(problem.op))},
      {"ranks", std::to_string(problem.ranks)},
      {"m", std::to_string(problem.m)},
      {"n", std::to_string(problem.n)},
      {"k", std::to_string(problem.k)},
      {"dtype-a", word(to_string(problem.dtype_a))},
      {"dtype-b", word(to_string(problem.dtype_b))},
      {"dtype-c", word(to_string(problem.dtype_c))},
      {"staging", word(to_string(problem.staging))},
      {"trans-a", yes_no(problem.trans_a)},
      {"trans-b", yes_no(problem.trans_b)},
      {"bias", yes_no(problem.bias)},
      {"local-matmul", std::to_string(problem.local_matmul)},
      {"tiles", number_or(problem.tiles, "chosen")},
      {"tile-rows", number_or(problem.tile_rows, "chosen")},
      {"tail", word(to_string(problem.tail))},
      {"slots", std::to_string(problem.slots)},
      {"blocks", number_or(problem.blocks, "chosen")},
      {"cores", word(to_string(problem.cores))},
      {"flags", word(to_string(problem.flags))},
      {"reduction", word(to_string(problem.reduction))},
      {"product", word(to_string(problem.product))},
      {"ub", word(to_string(problem.ub))},
      {"strided", word(to_string(problem.strided))},
      {"barrier", word(to_string(problem.barrier))},
      {"fence", word(to_string(problem.fence))},
      {"transfer", word(to_string(problem.transfer))},
  };
}

}  // namespace tandem
