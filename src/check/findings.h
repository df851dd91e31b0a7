// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/finding.h"

namespace tandem::check {

// Gathers findings and folds those that differ only in rank, core or range: what is wrong with a
// call is said once, with the count of places.
class Findings {
 public:
  void add(const Finding& finding);
  bool empty() const { return order_.empty(); }
  bool has(FindingCode code) const;
  // In the order in which they were first seen.
  std::vector<Finding> list() const;
  // Equal for findings that are folded: the code, the kind of object and the call sites.
  static std::string signature(const Finding& finding);

 private:
  std::map<std::string, Finding> by_signature_;
  std::vector<std::string> order_;
};

}  // namespace tandem::check
