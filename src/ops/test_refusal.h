// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "tandem/error.h"

namespace tandem {

// Every reason against a problem; none if it has a plan.
inline std::vector<std::string> reasons_against(const Problem& problem, const Device& device) {
  std::vector<std::string> reasons;
  try {
    make_plan(problem, device);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    std::istringstream lines(error.what());
    for (std::string line; std::getline(lines, line);) reasons.push_back(line);
  }
  return reasons;
}

}  // namespace tandem
