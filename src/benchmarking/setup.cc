// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/setup.h"

#include <algorithm>

#include "base/strings.h"
#include "ops/registry.h"
#include "report/device_json.h"
#include "tandem/error.h"

namespace tandem {
namespace {

Plan plan_of(const WorldOptions& world, const Problem& problem) {
  Device device = load_device("host");
  device.cores = world.workers.value_or(default_workers(problem.ranks));
  return make_plan(problem, device);
}

// Runs `step` and keeps its refusal.
template <typename Step>
void collect(std::string& reasons, const Step& step) {
  try {
    step();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    reasons += (reasons.empty() ? "" : "\n") + std::string(error.what());
  }
}

void check_options(const WorldOptions& world, const CaseOptions& asked,
                   const BenchOptions& options) {
  std::string reasons;
  const auto refuse = [&](const std::string& reason) {
    reasons += (reasons.empty() ? "bench: " : "\nbench: ") + reason;
  };
  if (world.transport != "shm") {
    refuse(cat("the transport is '", world.transport, "'; use shm: ranks that are processes"));
  }
  if (asked.problem.trans_a || asked.problem.trans_b) {
    refuse("an operand is transposed; give both as they are used, so that no arm transposes");
  }
  if (options.launches < 0 || options.launches > kBenchLaunchesMax) {
    refuse(cat("--launches is ", options.launches, "; use 1 to ", kBenchLaunchesMax,
               ", or 0: as many as fit"));
  }
  if (!(options.seconds > 0) || options.seconds > 3600) {
    refuse(cat("--seconds is ", options.seconds, "; use more than 0 and at most 3600"));
  }
  if (!reasons.empty()) throw Error(ErrorKind::refused, reasons);
}

}  // namespace

bool BenchSetup::has(BenchArm arm) const { return std::ranges::find(arms, arm) != arms.end(); }

std::unique_ptr<BenchSetup> make_bench_setup(const WorldOptions& world, const CaseOptions& asked,
                                             const BenchOptions& options) {
  auto setup = std::make_unique<BenchSetup>();
  setup->options = options;
  setup->problem = asked.problem;
  std::string reasons;
  for (const std::string& reason : asked.reasons) {
    reasons += (reasons.empty() ? "" : "\n") + reason;
  }
  WorldOptions checked = world;
  checked.ranks = std::clamp(asked.problem.ranks, 1, 64);  // the planner names bad counts
  collect(reasons, [&] { check_world_options(checked); });
  collect(reasons, [&] { check_options(world, asked, options); });
  if (asked.operator_name.empty()) {
    collect(reasons, [&] {
      setup->plan = plan_of(world, asked.problem);
      Problem serial = asked.problem;
      serial.tiles = 1;
      serial.tile_rows.reset();
      serial.slots = 0;
      setup->serial_plan = plan_of(world, serial);
    });
  }
  for (const std::string& why : setup->plan.unsound) {
    reasons += cat(reasons.empty() ? "" : "\n", "bench: ", why, "; leave the variant out");
  }
  if (!reasons.empty()) throw Error(ErrorKind::refused, reasons);
  setup->source = make_generator(asked.problem, options.inputs);
  for (const auto& [arm, name] : kEnumNames<BenchArm>) {
    const bool asked_for = std::ranges::find(options.arms, arm) != options.arms.end();
    if (!asked_for && !options.arms.empty()) continue;
    setup->arms.push_back(arm);
    if (arm == BenchArm::baseline) setup->baseline_is_asked = asked_for;
  }
  return setup;
}

}  // namespace tandem
