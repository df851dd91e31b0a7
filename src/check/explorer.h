// SPDX-License-Identifier: Apache-2.0
// Runs a program under many schedules. Where the first run is confluent it already speaks for all
// of them; the others are a second opinion, or what there is where it is not.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "check/replay.h"
#include "check/run.h"
#include "sim/machine.h"

namespace tandem::check {

enum class Strategy : std::uint8_t { canonical, random, pct, starve, exhaustive };

struct ExploreOptions {
  Strategy strategy = Strategy::canonical;
  int schedules = 100;  // at most, beside the canonical one
  std::uint64_t seed = 1;
  HappensBefore::Hash hash = HappensBefore::Hash::off;
};

struct Exploration {
  RunReport report;         // of the canonical run, or of the first that found something
  ScheduleSpec spec;        // its schedule
  int schedules = 0;        // run, the canonical one included
  bool exhausted = false;   // all orders of what is ambiguous were tried
  std::uint64_t steps = 0;  // of all runs
  std::uint64_t ops = 0;
  std::vector<std::uint64_t>
      relations;  // hashes of distinct happens-before relations, if asked for
};

// One run of the program under a schedule, with further observers.
using Runner = std::function<RunReport(sim::Schedule*, const std::vector<sim::Observer*>&)>;

// The canonical run, then `options.schedules` others unless something was found.
Exploration explore(const sim::Program& program, const ExploreOptions& options,
                    const Runner& runner);

}  // namespace tandem::check
