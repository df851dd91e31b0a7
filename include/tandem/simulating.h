// SPDX-License-Identifier: Apache-2.0
// How long an operator would take on a device, by running its kernels on the simulated machine with
// a clock. No data moves. docs/machine-time.md says what is modelled and where the costs come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/problem.h"

namespace tandem {

enum class SweepTiles : std::uint8_t { no, yes };

struct SimulateOptions {
  std::string device = "ascend950pr";  // a built-in device, or the path of a device file
  std::optional<int> workers;          // of a rank, on devices with shared workers
  std::vector<std::pair<int, double>> stragglers;      // rank, microseconds that it starts late
  std::vector<std::pair<std::string, double>> scales;  // cost of the device, factor
  SweepTiles sweep = SweepTiles::no;                   // 1, 2, 4, … rounds of communication
  bool trace = false;                                  // fill in the report's trace
  bool page = false;                                   // fill in the report's page
};

// The same inputs give the same bytes.
struct SimulateReport {
  std::string text;  // for a terminal
  std::string json;
  std::string page;   // HTML with pictures, nothing loaded from elsewhere
  std::string trace;  // Chrome's trace format; of the best tile count of a sweep
};

// Throws Error{refused} with every reason against the problem or the options.
SimulateReport simulate(const Problem& problem, const SimulateOptions& options = {});

}  // namespace tandem
