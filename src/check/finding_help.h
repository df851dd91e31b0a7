// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/finding.h"

namespace tandem::check {

struct FindingHelp {
  FindingCode code;
  std::string_view meaning;
  std::string_view fix;
};

// One entry for each code, in the order of FindingCode. docs/checker.md shows the same table.
std::span<const FindingHelp> all_help();
// Null for a word that is no code.
const FindingHelp* find_help(std::string_view code);
// For 'tandem list findings': a line each.
std::string list_help();

}  // namespace tandem::check
