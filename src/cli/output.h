// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tandem/case.h"

namespace tandem::cli {

// One line on a terminal that shows what a long run is doing; silent elsewhere.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text);
  void clear();

 private:
  bool on_terminal_;
  bool shown_ = false;
};

// Each line of the reasons once, in order, to stderr.
void print_reasons(const std::vector<std::string>& reasons);

// Why cases were refused or failed and how to run them again, to stderr.
void print_failures(const std::vector<CaseResult>& results);

// The table to stdout, the failures, then the verdict line to stdout.
void print_results(const std::vector<CaseResult>& results);

}  // namespace tandem::cli
