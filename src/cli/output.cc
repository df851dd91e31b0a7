// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <set>
#include <sstream>

#include "tandem/case.h"

namespace tandem::cli {
namespace {

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool has_run(const CaseResult& result) {
  return result.verdict == Verdict::pass || result.verdict == Verdict::fail;
}

}  // namespace

ProgressLine::ProgressLine() : on_terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const std::string& text) {
  if (!on_terminal_) return;
  fmt::print(stderr, "\r\033[K{}", text.substr(0, terminal_columns() - 1));
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

void print_reasons(const std::vector<std::string>& reasons) {
  std::set<std::string> seen;
  for (const std::string& reason : reasons) {
    std::istringstream lines(reason);
    for (std::string line; std::getline(lines, line);) {
      if (seen.insert(line).second) fmt::print(stderr, "{}\n", line);
    }
  }
}

void print_failures(const std::vector<CaseResult>& results) {
  std::vector<std::string> refusals;
  for (const CaseResult& result : results) {
    if (result.verdict != Verdict::refused) continue;
    refusals.insert(refusals.end(), result.messages.begin(), result.messages.end());
  }
  print_reasons(refusals);
  for (const CaseResult& result : results) {
    if (result.verdict == Verdict::pass || result.verdict == Verdict::refused) continue;
    for (const std::string& message : result.messages) fmt::print(stderr, "{}\n", message);
    fmt::print(stderr, "reproduce: {}\n", result.reproduce);
  }
  std::fflush(stderr);
}

void print_results(const std::vector<CaseResult>& results) {
  bool any_ran = false;
  for (const CaseResult& result : results) any_ran |= has_run(result);
  if (any_ran) fmt::print("{}", results_table(results));
  std::fflush(stdout);
  print_failures(results);
  fmt::print("{}\n", verdict_line(results));
}

}  // namespace tandem::cli
