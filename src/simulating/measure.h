// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/timeline.h"
#include "plan/plan.h"
#include "sim/timeline.h"
#include "simulating/ideal.h"

namespace tandem {

struct MeasureOptions {
  int workers = 1;                      // of a rank, on devices with shared workers
  std::vector<Picoseconds> late_start;  // by rank
  bool samples = false;                 // keep the use of memories and links over time
};

// One plan on the clock, and its two halves alone.
struct Measurement {
  std::shared_ptr<const Plan> plan;
  Timeline timeline;
  std::vector<sim::RankUse> use;
  std::vector<sim::PathStep> path;
  Picoseconds products = 0;   // makespan where vector cores cost nothing
  Picoseconds transfers = 0;  // makespan where cube cores cost nothing
  double masking = 0;
  Ideal ideal;
  double ideal_masking = 0;

  int slowest() const;
  // Of the slowest rank: time in which its cube cores had nothing to do but wait for peers.
  Picoseconds exposed() const;
};

Measurement measure(std::shared_ptr<const Plan> plan, const MeasureOptions& options);

// The fused run only.
Timeline run_timed(const Plan& plan, const MeasureOptions& options);

}  // namespace tandem
