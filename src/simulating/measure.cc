// SPDX-License-Identifier: Apache-2.0
#include "simulating/measure.h"

#include <algorithm>

#include "base/check.h"
#include "launches.h"
#include "sim/timed.h"

namespace tandem {
namespace {

Timeline run_with(const Plan& plan, const MeasureOptions& options, sim::FreeCores free) {
  sim::Program program;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    program.ranks.push_back({make_launch(plan, rank), nullptr});
  }
  program.launches = 1;
  program.values = false;
  program.profile.strided_rows_max = plan.device.memory.strided_rows_max;
  sim::TimedOptions timed;
  timed.free = free;
  timed.workers = options.workers;
  timed.samples = options.samples && free == sim::FreeCores::none;
  timed.late_start = options.late_start;
  Timeline timeline = sim::TimedRun(std::move(program), plan.device, timed).run();
  TANDEM_CHECK(timeline.finished, "the simulated run got stuck");
  return timeline;
}

}  // namespace

int Measurement::slowest() const {
  const auto& ranks = timeline.ranks;
  const auto last = std::ranges::max_element(ranks, {}, &TimelineRank::end);
  return static_cast<int>(last - ranks.begin());
}

Picoseconds Measurement::exposed() const {
  const sim::RankUse& rank = use[slowest()];
  return rank.waits_for_peers + rank.tail;
}

Timeline run_timed(const Plan& plan, const MeasureOptions& options) {
  return run_with(plan, options, sim::FreeCores::none);
}

Measurement measure(std::shared_ptr<const Plan> plan, const MeasureOptions& options) {
  Measurement result;
  result.plan = plan;
  result.timeline = run_with(*plan, options, sim::FreeCores::none);
  result.use = sim::use_of(result.timeline, plan->blocks);
  result.path = sim::critical_path(result.timeline);
  if (plan->ranks > 1) {
    MeasureOptions punctual = options;  // a late start is no work of either half
    punctual.late_start.clear();
    result.products = run_with(*plan, punctual, sim::FreeCores::vector).makespan;
    result.transfers = run_with(*plan, punctual, sim::FreeCores::cube).makespan;
  } else {
    result.products = result.timeline.makespan;
  }
  result.masking = masking_degree(result.products, result.transfers, result.timeline.makespan);
  result.ideal = ideal_of(*plan, result.products, result.transfers);
  result.ideal_masking = masking_degree(result.products, result.transfers, result.ideal.time);
  return result;
}

}  // namespace tandem
