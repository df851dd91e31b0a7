// SPDX-License-Identifier: Apache-2.0
#include "plan/print_parts.h"

#include <algorithm>
#include <cctype>

#include "base/checked.h"
#include "base/strings.h"
#include "mx/matrix.h"

namespace tandem {
namespace {

bool is_number(const std::string& cell) {
  return cell.empty() || std::isdigit(static_cast<unsigned char>(cell[0])) || cell[0] == '-';
}

std::string_view other_core(std::string_view core) { return core == "cube" ? "vector" : "cube"; }

// Rounds whose release somebody waits for.
std::int64_t releases(const Plan& plan) {
  const std::int64_t rounds = plan.rounds();
  const std::int64_t lag = plan.flags.lag;
  const bool gather = plan.problem.op == OperatorKind::all_gather_matmul;
  const bool get = plan.problem.op == OperatorKind::matmul_all_gather;
  if (plan.has_a_in_window()) return rounds;
  if (gather && plan.slots > 0) return std::max<std::int64_t>(0, rounds - plan.slots);
  if (get && plan.slots < rounds) return rounds - plan.slots;
  if (lag == 0) return 0;
  // All-gather counts its pre-fired flag, so it has one set more than rounds.
  return std::max<std::int64_t>(0, rounds + (gather ? 1 : 0) - lag);
}

std::string ids_text(const FlagIds& ids) {
  if (ids.modulus == 1) return std::to_string(ids.first);
  return cat(ids.first, " to ", ids.first + ids.modulus - 1, ", by round");
}

}  // namespace

std::string TextTable::text() const {
  std::vector<std::size_t> widths(rows_[0].size(), 0);
  std::vector<bool> numeric(rows_[0].size(), rows_.size() > 1);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (std::size_t column = 0; column < rows_[row].size(); ++column) {
      widths[column] = std::max(widths[column], rows_[row][column].size());
      if (row > 0 && !is_number(rows_[row][column])) numeric[column] = false;
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line = " ";
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string fill(widths[column] - row[column].size(), ' ');
      const bool right = column > 0 && numeric[column];
      line += (column > 0 ? "  " : " ") + (right ? fill + row[column] : row[column] + fill);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string range_text(std::int64_t first, std::int64_t count) {
  if (count <= 0) return "none";
  if (count == 1) return std::to_string(first);
  return cat(first, " to ", first + count - 1);
}

std::vector<FlagUse> flag_uses(const Plan& plan) {
  const FlagPlan& flags = plan.flags;
  const std::int64_t rounds = plan.rounds();
  const FlagUse release{"release", "", "", flags.release, releases(plan)};
  std::vector<FlagUse> uses;
  switch (plan.problem.op) {
    case OperatorKind::all_to_all_matmul:
      uses = {{"ready", "vector", "the round's rows of A have arrived", flags.ready, rounds}};
      break;
    case OperatorKind::all_gather_matmul:
      uses = {{"own", "vector", "own rows of A, before any round", flags.own, 1},
              {"ready", "vector", "the round's rows of A have arrived", flags.ready, rounds}};
      break;
    case OperatorKind::matmul_all_gather:
      uses = {{"ready", "cube", "the round's rows of C are in the window", flags.ready, rounds}};
      break;
    case OperatorKind::matmul_reduce_scatter:
      uses = {{"ready", "cube", "partial rows for other ranks are stored", flags.ready, rounds},
              {"own", "cube", "partial rows of the own segment are stored", flags.own, rounds}};
      break;
  }
  uses.push_back(release);
  uses.back().producer = other_core(uses[0].producer);
  uses.back().meaning = plan.has_a_in_window()
                            ? "all rows are read: peers may have theirs back"
                            : "the round is consumed: its counts or its slot are free again";
  return uses;
}

std::vector<Budget> budgets(const Plan& plan) {
  const DeviceMemory& memory = plan.device.memory;
  std::int64_t columns = 0;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    columns = std::max(columns, plan.columns_of(rank).count);
  }
  const bool panels = plan.order == SumOrder::panel;
  const std::int64_t k = plan.problem.k;
  const std::int64_t column_bytes = k * (panels ? 1 + kPackedWeightBytes : 1) + ceil_div(k, kGroup);
  std::vector<Budget> list{{"window", plan.window_bytes, memory.window_bytes}};
  const std::int64_t staging = plan.private_staging_bytes();
  if (staging > 0) list.push_back({"staging", staging, 0});
  if (plan.reduction.cores > 0) {
    list.push_back({"unified buffer", plan.reduction.ub_bytes, memory.ub_bytes});
  }
  if (plan.device.shared_workers) {
    list.push_back({panels ? "packed weights, codes and BF16" : "packed weights, codes",
                    column_bytes * columns, 0});
  }
  return list;
}

std::vector<WindowRegion> window_regions(const Plan& plan) {
  std::vector<WindowRegion> regions;
  if (plan.is_direct()) {
    const std::int64_t scales = plan.window_scale_offset;
    if (!plan.has_a_in_window()) return {{.buffer = Buffer::staging, .bytes = plan.window_bytes}};
    return {{.buffer = Buffer::a, .bytes = scales},
            {.buffer = Buffer::a_scale, .offset = scales, .bytes = plan.window_bytes - scales}};
  }
  for (const CommPlan& comm : plan.comm) {
    WindowRegion region{.buffer = comm.window, .bytes = comm.window_bytes, .slots = comm.slots};
    region.offset = comm.window == Buffer::window_scale ? plan.window_scale_offset : 0;
    region.parts = window_parts(comm);
    region.part_bytes = comm.part_bytes;
    regions.push_back(region);
  }
  return regions;
}

std::string print_flags(const Plan& plan) {
  std::string text = cat("flags within a block, numbered ", to_string(plan.problem.flags),
                         "; a producer runs at most ", plan.flags.lag, " rounds ahead\n");
  TextTable table({"flag", "set by", "taken by", "id", "sets", "says"});
  for (const FlagUse& use : flag_uses(plan)) {
    table.add({std::string(use.name), std::string(use.producer),
               std::string(other_core(use.producer)), ids_text(use.ids), std::to_string(use.sets),
               std::string(use.meaning)});
  }
  text += table.text();
  const bool all_fence = plan.problem.fence == FenceJobs::all;
  return text + cat("barriers of the ranks: ", to_string(plan.problem.barrier), " words, at most ",
                    plan.epochs, " epochs a launch; ",
                    all_fence ? "all jobs fence" : "job 0 fences",
                    plan.is_direct() ? " before peers read, and once when all have read\n"
                                     : " once before the first transfer\n");
}

std::string print_budgets(const Plan& plan) {
  TextTable table({"budget of a rank", "bytes", "limit"});
  for (const Budget& budget : budgets(plan)) {
    table.add({std::string(budget.name), std::to_string(budget.bytes),
               budget.limit > 0 ? std::to_string(budget.limit) : "none"});
  }
  return "budgets\n" + table.text();
}

}  // namespace tandem
