// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/setup.h"

#include <algorithm>

#include "base/strings.h"
#include "link_figures.h"
#include "ops/registry.h"
#include "tandem/error.h"

namespace tandem {
namespace {

bool has_links(const WorldOptions& world) { return world.transport != "shm"; }

bool is_asked(const BenchOptions& options, BenchArm arm) {
  return std::ranges::find(options.arms, arm) != options.arms.end();
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

template <typename Refuse>
void check_sleep(const CaseOptions& asked, const BenchOptions& options, const Refuse& refuse) {
  const bool sleeps = options.compute == BenchCompute::sleep;
  if (sleeps && is_asked(options, BenchArm::baseline)) {
    refuse("the baseline's products cannot sleep; leave the arm or --compute sleep out");
  }
  if (sleeps && !options.sleep_gflops && asked.problem.ranks == 1) {
    refuse("one rank has no transfers to set the products' speed by; give --sleep-gflops");
  }
  if (!options.sleep_gflops) return;
  if (!sleeps) refuse("--sleep-gflops is given without --compute sleep; give both");
  constexpr double kMin = 1e-3;
  constexpr double kMax = 1e9;
  if (!(*options.sleep_gflops >= kMin && *options.sleep_gflops <= kMax)) {
    refuse(cat("--sleep-gflops is ", *options.sleep_gflops, "; use ", kMin, " to ", kMax));
  }
}

void check_options(const WorldOptions& world, const CaseOptions& asked,
                   const BenchOptions& options) {
  std::string reasons;
  const auto refuse = [&](const std::string& reason) {
    reasons += (reasons.empty() ? "bench: " : "\nbench: ") + reason;
  };
  if (world.transport == "threads") {
    refuse("the ranks are threads; use shm, tcp or ucx: ranks that are processes");
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
  check_sleep(asked, options, refuse);
  if (is_asked(options, BenchArm::baseline) && has_links(world)) {
    refuse(cat("the baseline arm exchanges through shared memory, which ranks over ",
               world.transport, " do not have; leave the arm out"));
  }
  if (!reasons.empty()) throw Error(ErrorKind::refused, reasons);
}

// The baseline's products are a library's, and need its exchange: not everywhere to be had.
void choose_arms(const WorldOptions& world, BenchSetup& setup) {
  const BenchOptions& options = setup.options;
  const char* missing = has_links(world) ? ": its exchange is one through shared memory"
                        : setup.sleeps() ? ": its products do not sleep"
                                         : nullptr;
  for (const auto& [arm, name] : kEnumNames<BenchArm>) {
    if (!is_asked(options, arm) && !options.arms.empty()) continue;
    if (arm == BenchArm::baseline && missing != nullptr) {
      setup.notes.push_back(cat("no baseline", missing));
      continue;
    }
    setup.arms.push_back(arm);
    if (arm == BenchArm::baseline) setup.baseline_is_asked = is_asked(options, arm);
  }
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
    collect(reasons, [&] { plan_for(*setup, device_before(world, asked.problem.ranks)); });
  }
  for (const std::string& why : setup->plan.unsound) {
    reasons += cat(reasons.empty() ? "" : "\n", "bench: ", why, "; leave the variant out");
  }
  if (!reasons.empty()) throw Error(ErrorKind::refused, reasons);
  setup->source = make_generator(asked.problem, options.inputs);
  choose_arms(world, *setup);
  return setup;
}

void plan_for(BenchSetup& setup, const Device& device) {
  setup.plan = make_plan(setup.problem, device);
  Problem serial = setup.problem;
  serial.tiles = 1;
  serial.tile_rows.reset();
  serial.slots = 0;
  setup.serial_plan = make_plan(serial, device);
}

double flops_of_rank(const Plan& plan, int rank) {
  const Shapes held = shapes_of(plan.problem, rank);
  const bool gathers = plan.problem.op == OperatorKind::all_gather_matmul;
  const auto rows = static_cast<double>(gathers ? plan.ranks * plan.problem.m : plan.problem.m);
  return 2 * rows * static_cast<double>(held.b_columns) * static_cast<double>(held.b_k);
}

}  // namespace tandem
