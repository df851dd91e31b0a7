// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ops/operator.h"

namespace tandem {

std::span<const OperatorEntry> all_operators();
const OperatorEntry& find_operator(OperatorKind kind);

// The plan, or Error{refused} with every violated rule, its values and a remedy.
Plan make_plan(const Problem& problem, const Device& device);

}  // namespace tandem
