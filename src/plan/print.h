// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plan/plan.h"

namespace tandem {

// The plan as text for a person: semantics, distribution, rounds, tiles, windows, flags, budgets.
std::string print_plan(const Plan& plan);

}  // namespace tandem
