// SPDX-License-Identifier: Apache-2.0
// Questions that are answered without running anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/problem.h"

namespace tandem {

struct PlanOptions {
  std::string device = "host";  // a built-in device, or the path of a device file
  std::optional<int> workers;   // of a rank on the host; default: its share of the processors
  // Of the link between ranks on the host, which choose the rounds; both or none. Default: memory.
  std::optional<std::int64_t> link_mb_s;       // 10^6 bytes a second, as `tandem selftest` prints
  std::optional<std::int64_t> link_latency_us;
};

// The plan as text for a person, or as JSON. Throw Error{refused} with every reason against it.
std::string plan_text(const Problem& problem, const PlanOptions& options = {});
std::string plan_json(const Problem& problem, const PlanOptions& options = {});

// Which scenario serves the requirement in a JSON file; exactly one, or why not.
struct RouteReport {
  std::string text;
  std::string json;
  bool supported = false;
};
RouteReport route_file(const std::string& path);

// What there is, one line each: name, two or more blanks, what it is.
std::string list_operators();
std::string list_scenarios();
std::string list_devices();
std::string list_transports();

}  // namespace tandem
