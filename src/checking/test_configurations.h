// SPDX-License-Identifier: Apache-2.0
// Configurations that must be sound, for tests.
#pragma once

#include <string>
#include <vector>

#include "checking/variants.h"
#include "tandem/checking.h"
#include "tandem/error.h"

namespace tandem {

// Small and uneven: tails, short groups, ranks with less than others.
inline CheckOptions small_case(OperatorKind op, int ranks, std::int64_t tiles) {
  CheckOptions options;
  Problem& problem = options.problem;
  problem.op = op;
  problem.ranks = ranks;
  problem.m = op == OperatorKind::matmul_reduce_scatter ? 11 * ranks + 1 : 13;
  problem.n = op == OperatorKind::matmul_all_gather ? 5 * ranks + 1 : 9;
  problem.k = op == OperatorKind::all_to_all_matmul ? 64 * ranks + 8 : 72;
  problem.tiles = tiles;
  options.shrink = CheckShrink::off;
  return options;
}

// The same for the accelerator, whose rules want whole groups and equal parts.
inline CheckOptions device_case(OperatorKind op, int ranks, std::int64_t tile_rows,
                                TailStrategy tail) {
  CheckOptions options;
  Problem& problem = options.problem;
  problem.op = op;
  problem.ranks = ranks;
  problem.m = op == OperatorKind::matmul_reduce_scatter ? 80 * ranks : 80;
  problem.n = op == OperatorKind::matmul_all_gather ? 16 * ranks : 16;
  problem.k = op == OperatorKind::all_to_all_matmul ? 128 * ranks : 128;
  problem.tile_rows = tile_rows;
  problem.tail = tail;
  problem.blocks = ranks + 2;
  options.device = "ascend950pr";
  options.shrink = CheckShrink::off;
  return options;
}

enum class Refusals { alarm, allowed };

// Why the case is not sound; empty: it is, or the planner may refuse it and does.
inline std::string alarm_of(const CheckOptions& options, Refusals refusals = Refusals::alarm) {
  try {
    const CheckReport report = run_check(options);
    if (report.verdict == CheckVerdict::sound && report.confluent) return {};
    return check_command(options) + "\n" + check_text(report);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    return refusals == Refusals::allowed ? "" : error.what();
  }
}

inline constexpr OperatorKind kOperatorKinds[] = {
    OperatorKind::all_to_all_matmul, OperatorKind::all_gather_matmul,
    OperatorKind::matmul_all_gather, OperatorKind::matmul_reduce_scatter};

// The forms of an operator that are meant to be right; the empty name is the default.
inline std::vector<std::string> sound_variants(OperatorKind op) {
  std::vector<std::string> names{""};
  for (const Variant& variant : all_variants()) {
    if (variant.applies(op) && variant.name != "single-slot-barrier") {
      names.emplace_back(variant.name);
    }
  }
  return names;
}

}  // namespace tandem
