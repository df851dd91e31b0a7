// SPDX-License-Identifier: Apache-2.0
// One checked run of a program in the simulated machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/finding.h"
#include "check/happens_before.h"
#include "sim/machine.h"

namespace tandem::check {

struct RunReport {
  bool finished = false;            // false: it got stuck, see the deadlock finding
  std::vector<Finding> findings;    // folded, in the order in which they were first seen
  std::vector<std::string> doubts;  // why this run does not speak for all schedules
  std::uint64_t steps = 0;
  std::uint64_t ops = 0;
  std::uint64_t relation_hash = 0;  // of the happens-before relation, if asked for
  std::size_t shadow_segments = 0;

  bool clean() const { return finished && findings.empty(); }
  bool confluent() const { return doubts.empty(); }
};

// Runs the program under `schedule` (null: canonical) with all checks on. `more` observers are
// told after the checks.
RunReport run_checked(const sim::Program& program, sim::Schedule* schedule = nullptr,
                      HappensBefore::Hash hash = HappensBefore::Hash::off,
                      const std::vector<sim::Observer*>& more = {});

}  // namespace tandem::check
