// SPDX-License-Identifier: Apache-2.0
// Measurements as text, JSON and pictures.
#pragma once

#include <string>
#include <vector>

#include "simulating/measure.h"

namespace tandem {

// What was asked, beside the plan.
struct SimulateContext {
  std::string device;
  int guesses = 0;      // costs of the device that nobody has measured or published
  int costs = 0;
  std::vector<std::string> changes;  // stragglers and scaled costs, one line each
};

// One tile count of a sweep, or why it has none.
struct SweepPoint {
  std::int64_t tiles = 0;
  std::shared_ptr<const Measurement> measurement;  // null: refused
  std::string refusal;
};

std::string measurement_text(const SimulateContext& context, const Measurement& measurement);
std::string sweep_text(const std::vector<SweepPoint>& points, std::size_t best);
std::string simulation_json(const SimulateContext& context, const Measurement& measurement,
                            const std::vector<SweepPoint>& points, std::size_t best);

// "12.3"; microseconds.
std::string microseconds(Picoseconds time);
// "0.83", or "-" where there is nothing to hide.
std::string degree(double masking, Picoseconds products, Picoseconds transfers);

}  // namespace tandem
