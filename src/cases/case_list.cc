// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "report/csv.h"
#include "tandem/case.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::string_view kColumns[] = {"m",        "k",      "n",           "ranks",
                                         "operator", "head_m", "buffer_count"};

class CaseList {
 public:
  explicit CaseList(const CaseListOptions& options)
      : options_(options), table_(read_csv(options.path)) {
    check_columns();
    if (options.scale_down < 1) {
      refuse(cat("--scale-down is ", options.scale_down, "; use 1 or more"));
    }
    if (!options.op && !table_.find_column("operator")) {
      refuse("no column names the operator; name one on the command line");
    }
    throw_if_any();
  }

  std::vector<CaseOptions> cases() {
    std::vector<CaseOptions> cases;
    for (const CsvRow& row : table_.rows) {
      if (auto made = make_case(row)) cases.push_back(*std::move(made));
    }
    if (reasons_.empty() && cases.empty()) refuse("no row to run; name another operator or list");
    throw_if_any();
    return cases;
  }

 private:
  void refuse(const std::string& text) {
    reasons_ += cat(reasons_.empty() ? "" : "\n", options_.path, ": ", text);
  }

  void throw_if_any() const {
    if (!reasons_.empty()) throw Error(ErrorKind::refused, reasons_);
  }

  void check_columns() {
    for (const std::string& column : table_.columns) {
      if (std::ranges::find(kColumns, column) != std::end(kColumns)) continue;
      std::string known;
      for (const std::string_view name : kColumns) known += cat(known.empty() ? "" : ", ", name);
      refuse(cat("column '", column, "' is unknown; use ", known));
    }
    for (const std::string_view name : {"m", "k", "n"}) {
      if (!table_.find_column(name)) refuse(cat("column '", name, "' is missing; add it"));
    }
  }

  std::string field(const CsvRow& row, std::string_view column) const {
    const auto index = table_.find_column(column);
    return index ? row.fields[*index] : std::string();
  }

  // The number in a column; nothing if there is no such column, or it is no number.
  std::optional<std::int64_t> number(const CsvRow& row, std::string_view column) {
    if (!table_.find_column(column)) return std::nullopt;
    const std::string text = field(row, column);
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (!text.empty() && parsed.ec == std::errc() && parsed.ptr == end) return value;
    refuse(cat("line ", row.line, ": ", column, " is '", text, "'; use a whole number"));
    return std::nullopt;
  }

  // Counts far beyond what the planner takes keep their message and lose their exact size.
  static int to_int(std::int64_t value) {
    return static_cast<int>(std::clamp<std::int64_t>(value, -1'000'000, 1'000'000));
  }

  std::optional<CaseOptions> make_case(const CsvRow& row) {
    CaseOptions made = options_.base;
    Problem& problem = made.problem;
    const std::string name = field(row, "operator");
    const auto op = name.empty() ? options_.op : try_parse<OperatorKind>(name);
    if (options_.op && op != options_.op) return std::nullopt;
    problem.m = number(row, "m").value_or(0);
    problem.k = number(row, "k").value_or(0);
    problem.n = number(row, "n").value_or(0);
    problem.ranks = to_int(number(row, "ranks").value_or(problem.ranks));
    if (const auto head_m = number(row, "head_m")) problem.tile_rows = *head_m;
    if (const auto slots = number(row, "buffer_count")) problem.slots = to_int(*slots);
    if (!op) {
      made.operator_name = name;
      made.reasons = {cat(name,
                          ": the operator is not built; 'tandem list operators' names those "
                          "that are")};
      return made;
    }
    problem.op = *op;
    if (*op == OperatorKind::all_to_all_matmul && !name.empty()) take_share(made);
    scale(problem);
    return made;
  }

  // m counts the rows of all ranks.
  static void take_share(CaseOptions& made) {
    Problem& problem = made.problem;
    if (problem.ranks < 1) return;  // the planner says so
    if (problem.m % problem.ranks != 0) {
      made.reasons = {cat("all-to-all-matmul: m ", problem.m, " of all ranks does not divide over ",
                          problem.ranks, " ranks; use a multiple")};
    }
    problem.m /= problem.ranks;
  }

  void scale(Problem& problem) const {
    if (options_.scale_down == 1) return;
    for (std::int64_t* extent : {&problem.m, &problem.n, &problem.k}) {
      *extent = scale_extent(*extent, options_.scale_down);
    }
    // Rounds stay as many as they were.
    if (problem.tile_rows) {
      problem.tile_rows = std::max<std::int64_t>(1, *problem.tile_rows / options_.scale_down);
    }
  }

  const CaseListOptions& options_;
  CsvTable table_;
  std::string reasons_;
};

}  // namespace

std::int64_t scale_extent(std::int64_t extent, std::int64_t divisor) {
  const std::int64_t scaled = std::max<std::int64_t>(1, extent / divisor);
  return scaled + (extent % 32 != 0 && scaled % 32 == 0 ? 1 : 0);
}

std::vector<CaseOptions> read_case_list(const CaseListOptions& options) {
  return CaseList(options).cases();
}

}  // namespace tandem
