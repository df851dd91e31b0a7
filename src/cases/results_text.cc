// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <set>
#include <sstream>

#include "base/strings.h"
#include "cases/results.h"
#include "mx/output.h"
#include "report/table.h"
#include "tandem/case.h"

namespace tandem {
namespace {

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

// 0x4049 (3.140625)
std::string shown(OutputType type, std::uint32_t bits) {
  std::ostringstream text;
  text << "0x" << std::hex << std::setfill('0')
       << std::setw(static_cast<int>(2 * element_bytes(type))) << bits << std::dec << " ("
       << std::setprecision(9) << widen(type, &bits) << ")";
  return text.str();
}

// What the plans chose or clamped, each sentence once.
std::string notes_of(const std::vector<CaseResult>& results) {
  std::string text;
  std::set<std::string> seen;
  for (const CaseResult& result : results) {
    for (const std::string& note : result.notes) {
      std::string line = cat("note: ", result.operator_name, ": ", note, "\n");
      if (has_run(result) && seen.insert(line).second) text += line;
    }
  }
  return text;
}

// What the verdict rests on, for who has not read the manual.
std::string what_was_compared(const std::vector<CaseResult>& results) {
  std::int64_t elements = 0;
  std::int64_t differing = 0;
  for (const CaseResult& result : results) {
    elements += result.elements;
    differing += result.differing;
  }
  return cat("compared with the scalar reference, bit for bit: ", elements, " elements of C, ",
             differing, differing == 1 ? " differs\n" : " differ\n");
}

}  // namespace

std::string describe_difference(const CaseResult& result) {
  const Difference& first = *result.first;
  const OutputType type = result.problem.dtype_c;
  const std::string source =
      first.source_rank < 0 ? "sum over all ranks" : cat("source rank ", first.source_rank);
  const std::string round = first.round < 0 ? "own part" : cat("round ", first.round);
  return cat(result.operator_name, ": ", result.differing, " of ", result.elements,
             " elements differ; first on rank ", first.rank, " at index ", first.index, " (row ",
             first.row, ", column ", first.column, "): got ", shown(type, first.got), ", want ",
             shown(type, first.want), "; ", source, ", ", round, ", launch ", first.launch);
}

std::string results_table(const std::vector<CaseResult>& results) {
  TextTable table({"operator", "R", "m", "n", "k", "types", "rounds", "differing", "max ULP",
                   "bound used", "ms", "verdict"});
  for (const CaseResult& result : results) {
    const Problem& problem = result.problem;
    const bool ran = has_run(result);
    const auto if_ran = [&](const std::string& text) { return ran ? text : "-"; };
    table.add_row(
        {result.operator_name, std::to_string(problem.ranks), std::to_string(problem.m),
         std::to_string(problem.n), std::to_string(problem.k),
         cat(to_string(problem.dtype_a), "×", to_string(problem.dtype_b), "→",
             to_string(problem.dtype_c)),
         if_ran(std::to_string(result.rounds)), if_ran(std::to_string(result.differing)),
         if_ran(fixed(result.ulp_max, 2)), if_ran(fixed(100 * result.bound_ratio, 1) + " %"),
         if_ran(fixed(1e3 * result.seconds_fused, 3)), std::string(to_string(result.verdict))});
  }
  std::string text = table.to_string();
  for (const CaseResult& result : results) {
    if (!has_run(result) || result.exact_rows == result.rows) continue;
    text += cat(result.operator_name, " ", result.problem.m, "x", result.problem.n, "x",
                result.problem.k, ": ULP and bound on a sample, ", result.exact_rows, " of ",
                result.rows, " rows; bits on all\n");
  }
  return text + notes_of(results) + what_was_compared(results);
}

}  // namespace tandem
