// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tandem/problem.h"

namespace tandem {

// Name and value of everything in a problem, as the command line spells it: what ranks compare,
// what reports print.
std::vector<std::pair<std::string, std::string>> problem_fields(const Problem& problem);

}  // namespace tandem
