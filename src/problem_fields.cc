// SPDX-License-Identifier: Apache-2.0
#include "problem_fields.h"

#include <algorithm>

#include "tandem/case.h"
#include "tandem/types.h"

namespace tandem {
namespace {

template <typename T>
std::string number_or(const std::optional<T>& value, const char* otherwise) {
  return value ? std::to_string(*value) : otherwise;
}

std::string word(std::string_view text) { return std::string(text); }
std::string yes_no(bool value) { return value ? "yes" : "no"; }

// For a shell: quoted where it is more than letters, digits and a few harmless signs.
std::string quoted(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_-./,:=+@").find(c) != std::string_view::npos;
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

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

std::string command_line(const WorldOptions& world, const CaseOptions& options) {
  const Problem& problem = options.problem;
  const bool unknown = !options.operator_name.empty();
  std::string line = "tandem run ";
  line += unknown ? options.operator_name : word(to_string(problem.op));
  const auto add = [&line](const std::string& option, const std::string& value) {
    line += " " + option;
    if (!value.empty()) line += " " + quoted(value);
  };
  add("-R", std::to_string(problem.ranks));
  add("-m", std::to_string(problem.m));
  add("-n", std::to_string(problem.n));
  add("-k", std::to_string(problem.k));
  Problem plain;
  plain.op = problem.op;
  plain.ranks = problem.ranks;
  plain.m = problem.m;
  plain.n = problem.n;
  plain.k = problem.k;
  const auto defaults = problem_fields(plain);
  const auto fields = problem_fields(problem);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& [name, value] = fields[i];
    if (value == defaults[i].second) continue;
    const bool is_flag = value == "yes";
    add("--" + name, name == "bias" ? options.files.bias : is_flag ? "" : value);
  }
  add("--input", word(to_string(options.inputs.kind)));
  add("--seed", std::to_string(options.inputs.seed));
  if (options.inputs.scale_mode != ScaleMode::floor) {
    add("--scale-mode", word(to_string(options.inputs.scale_mode)));
  }
  if (!options.files.a.empty()) add("--a", options.files.a);
  if (!options.files.b.empty()) add("--b", options.files.b);
  if (!options.files.out.empty()) add("--out", options.files.out);
  if (options.repeat != 1) add("--repeat", std::to_string(options.repeat));
  if (options.unsound == UnsoundPlans::allowed) add("--allow-unsound", "");
  const WorldOptions usual;
  if (world.transport != usual.transport) add("--transport", world.transport);
  if (world.timeout_ms != usual.timeout_ms) add("--timeout-ms", std::to_string(world.timeout_ms));
  if (world.workers) add("--workers", std::to_string(*world.workers));
  if (world.epoch_start != usual.epoch_start) {
    add("--epoch-start", std::to_string(world.epoch_start));
  }
  return line;
}

}  // namespace tandem
