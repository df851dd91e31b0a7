// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tandem/problem.h"

namespace tandem {

// A named form of the operators that differs from the default in one decision of the plan.
struct Variant {
  std::string_view name;
  std::string_view summary;
  void (*apply)(Problem& problem);
  bool (*applies)(OperatorKind op);
};

std::span<const Variant> all_variants();

// Whether a variant is an error of the original design: a mutant under the name "upstream:A1".
bool is_upstream_error(std::string_view name);

// Why the operator has no variant of that name; empty: it has.
std::string refusal_of_variant(OperatorKind op, std::string_view name);

// The problem in that form; empty, or upstream's error: as it is. Throws Error{refused} for a name
// that is none.
Problem with_variant(const Problem& problem, std::string_view name);

}  // namespace tandem
