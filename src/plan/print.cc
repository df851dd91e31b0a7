// SPDX-License-Identifier: Apache-2.0
#include "plan/print.h"

#include "base/strings.h"
#include "plan/print_parts.h"

namespace tandem {
namespace {

std::string_view formula(OperatorKind op) {
  switch (op) {
    case OperatorKind::all_to_all_matmul:
      return "C_r = sum over s of A_s[row block r] x B[segment s]; rows of A travel, then multiply";
    case OperatorKind::all_gather_matmul:
      return "C_r = concat(A_0 ... A_R-1) x B_r; rows of A travel, then multiply";
    case OperatorKind::matmul_all_gather:
      return "C = A x [B_0 | ... | B_R-1] on every rank; multiply, then rows of C travel";
    case OperatorKind::matmul_reduce_scatter:
      return "C_r = rows r of the sum over s of A_s x B_s; multiply, then partial rows travel";
  }
  return "?";
}

std::string print_title(const Plan& plan) {
  const Problem& problem = plan.problem;
  std::string text =
      cat(to_string(problem.op), " on ", plan.device.name, ": R ", plan.ranks, ", m ", problem.m,
          ", n ", problem.n, ", k ", problem.k, "\n  ", formula(problem.op), "\n");
  text += cat("  A ", to_string(problem.dtype_a), problem.trans_a ? " [k, m]" : " [m, k]", ", B ",
              to_string(problem.dtype_b), problem.trans_b ? " [n, k]" : " [k, n]",
              ", one E8M0 scale per 32 along k; C ", to_string(problem.dtype_c),
              problem.bias ? ", bias FP32 [n]" : ", no bias", "\n");
  text += cat("  each sum in ", to_string(plan.order), " order over k");
  switch (problem.op) {
    case OperatorKind::all_to_all_matmul:
      if (problem.local_matmul == 0) text += ", segments of ranks 0 to R-1";
      if (problem.local_matmul == 1) text += "; own segment stored first, the others added to it";
      if (problem.local_matmul == 2) text += ", own segment first, then ranks 0 to R-1";
      break;
    case OperatorKind::matmul_reduce_scatter:
      text += cat("; partial sums rounded to ", to_string(problem.staging),
                  ", then added in FP32 over ranks 0 to R-1");
      break;
    case OperatorKind::all_gather_matmul:
    case OperatorKind::matmul_all_gather:
      break;
  }
  text += "\n";
  if (plan.stream_rows > 0) {
    text += cat("  a tile of all ", plan.stream_rows,
                " rows reads its weights once: they stream past the cache\n");
  }
  return text;
}

std::string print_lines(std::string_view title, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += cat(title, ": ", line, "\n");
  return text;
}

std::string extent(const Slice& slice) {
  return slice.count == 0 ? "none" : cat(slice.first, "+", slice.count);
}

// The job of a reducing or communicating block, in words.
std::string jobs_text(const Plan& plan) {
  const std::int64_t first = plan.comm_blocks == CommBlocks::first ? 0 : plan.blocks - plan.jobs;
  std::string text = cat("vector cores of blocks ", range_text(first, plan.jobs), " communicate");
  if (plan.reduction.cores > 0) {
    text += cat(", those of blocks ", range_text(0, plan.reduction.cores), " reduce");
  }
  return text;
}

}  // namespace

// What each rank holds and gets; first+count along the axes that are split.
std::string print_distribution(const Plan& plan) {
  const bool split_k = plan.k_segments() > 1;
  TextTable table({"rank", "A rows", "A k", "B k", "B columns", "C rows", "C first row"});
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const bool scatter = plan.problem.op == OperatorKind::matmul_reduce_scatter;
    const bool to_all = plan.problem.op == OperatorKind::all_to_all_matmul;
    const std::int64_t first = scatter || to_all ? plan.rows_of(rank).first : 0;
    table.add({std::to_string(rank), std::to_string(plan.a_rows(rank)),
               split_k ? extent(plan.k_of(rank)) : std::to_string(plan.problem.k),
               std::to_string(plan.problem.k),
               plan.problem.op == OperatorKind::matmul_all_gather ? extent(plan.columns_of(rank))
                                                                  : std::to_string(plan.problem.n),
               std::to_string(plan.c_rows(rank)), std::to_string(first)});
  }
  return "distribution\n" + table.text();
}

std::string print_rounds(const Plan& plan) {
  std::string text = cat("rounds: ", plan.rounds(), "; each moves a slice of every chunk\n");
  if (plan.rounds() == 0) return text;
  TextTable table({"round", "rows", "first row", "padded"});
  // Rounds of one size make one line.
  for (int round = 0; round < plan.rounds();) {
    int end = round + 1;
    while (end < plan.rounds() && plan.slices[end].count == plan.slices[round].count) ++end;
    const Slice& slice = plan.slices[round];
    std::int64_t padded = 0;
    for (const Region& region : plan.regions) {
      if (region.round == round) padded = region.padded_rows;
    }
    table.add({range_text(round, end - round), std::to_string(slice.count),
               std::to_string(slice.first), padded > 0 ? std::to_string(padded) : "no"});
    round = end;
  }
  return text + table.text();
}

std::string print_blocks(const Plan& plan) {
  std::string text =
      cat("blocks: ", plan.blocks, " of one cube and one vector core; ", jobs_text(plan), "\n");
  TextTable table({"job", "block", "serves ranks"});
  for (int job = 0; job < plan.jobs; ++job) {
    const int block = plan.comm_blocks == CommBlocks::first ? job : plan.blocks - 1 - job;
    const Slice targets = targets_of_job(plan.ranks, plan.jobs, job);
    table.add(
        {std::to_string(job), std::to_string(block), range_text(targets.first, targets.count)});
  }
  return text + table.text();
}

std::string print_plan(const Plan& plan) {
  std::string text = print_title(plan);
  for (const std::string& section :
       {print_distribution(plan), print_rounds(plan), print_tiles(plan), print_blocks(plan),
        print_window(plan), print_flags(plan), print_reduction(plan), print_budgets(plan)}) {
    text += section;
  }
  text += print_lines("note", plan.notes);
  text += print_lines("warning", plan.warnings);
  text += print_lines("unsound", plan.unsound);
  return text;
}

}  // namespace tandem
