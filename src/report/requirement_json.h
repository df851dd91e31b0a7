// SPDX-License-Identifier: Apache-2.0
// Requirements as JSON, and the answer of the scenario registry as text and JSON.
#pragma once

#include <string>
#include <string_view>

#include "plan/scenarios.h"

namespace tandem {

// A JSON object with the fields of Requirement; absent fields stay open. A "description" text is
// allowed and ignored. Throws Error{refused} with every problem; `name_for_errors` begins each
// line.
Requirement parse_requirement(std::string_view json_text, std::string_view name_for_errors);

// The requirement in the file at `path`.
Requirement load_requirement(const std::string& path);

// JSON that parse_requirement reads back to the same.
std::string print_requirement(const Requirement& requirement);

// The answer for people, several lines, the id to record first.
std::string route_text(const RouteAnswer& answer);

// The same with every field of the answer.
std::string route_json(const RouteAnswer& answer);

// The registry: id, status here and upstream, operator, support range, criteria.
std::string scenarios_text();

}  // namespace tandem
