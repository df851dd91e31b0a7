// SPDX-License-Identifier: Apache-2.0
// Whole operators, run and predicted.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/strings.h"
#include "calibrating/probe.h"
#include "ops/registry.h"
#include "report/device_json.h"
#include "report/table.h"
#include "simulating/measure.h"
#include "tandem/calibrating.h"
#include "tandem/error.h"
#include "tandem/operator.h"

namespace tandem {
namespace {

// A few hundred microseconds to some ten milliseconds each. Extents are none of the micro-kernels'.
std::vector<Problem> fit_problems() {
  using enum OperatorKind;
  return {
      {.op = all_to_all_matmul, .ranks = 1, .m = 300, .n = 500, .k = 700, .tiles = 2},
      {.op = all_to_all_matmul, .ranks = 2, .m = 200, .n = 768, .k = 1500, .tiles = 1},
      {.op = all_to_all_matmul, .ranks = 2, .m = 384, .n = 1000, .k = 1200, .tiles = 4},
      {.op = all_to_all_matmul, .ranks = 4, .m = 100, .n = 512, .k = 2000, .tiles = 1},
      {.op = all_to_all_matmul, .ranks = 4, .m = 250, .n = 517, .k = 1600, .tiles = 4},
      {.op = all_to_all_matmul, .ranks = 4, .m = 128, .n = 1500, .k = 1280, .tiles = 2},
      {.op = all_gather_matmul, .ranks = 1, .m = 500, .n = 600, .k = 800, .tiles = 1},
      {.op = all_gather_matmul, .ranks = 2, .m = 160, .n = 900, .k = 1100, .tiles = 1},
      {.op = all_gather_matmul, .ranks = 2, .m = 320, .n = 640, .k = 768, .tiles = 5},
      {.op = all_gather_matmul, .ranks = 4, .m = 64, .n = 512, .k = 2500, .tiles = 1},
      {.op = all_gather_matmul, .ranks = 4, .m = 200, .n = 700, .k = 900, .tiles = 4},
      {.op = all_gather_matmul, .ranks = 4, .m = 120, .n = 1200, .k = 640, .tiles = 8},
      {.op = matmul_all_gather, .ranks = 1, .m = 400, .n = 800, .k = 600, .tiles = 2},
      {.op = matmul_all_gather, .ranks = 2, .m = 300, .n = 1600, .k = 500, .tiles = 1},
      {.op = matmul_all_gather, .ranks = 2, .m = 509, .n = 1030, .k = 1000, .tiles = 4},
      {.op = matmul_all_gather, .ranks = 4, .m = 180, .n = 2200, .k = 700, .tiles = 1},
      {.op = matmul_all_gather, .ranks = 4, .m = 360, .n = 2000, .k = 800, .tiles = 4},
      {.op = matmul_all_gather, .ranks = 4, .m = 720, .n = 1100, .k = 400, .tiles = 12},
      {.op = matmul_reduce_scatter, .ranks = 1, .m = 350, .n = 700, .k = 900, .tiles = 3},
      {.op = matmul_reduce_scatter, .ranks = 2, .m = 400, .n = 800, .k = 700, .tiles = 1},
      {.op = matmul_reduce_scatter, .ranks = 2, .m = 700, .n = 512, .k = 1300, .tiles = 4},
      {.op = matmul_reduce_scatter, .ranks = 4, .m = 420, .n = 600, .k = 1000, .tiles = 1},
      {.op = matmul_reduce_scatter, .ranks = 4, .m = 1022, .n = 512, .k = 768, .tiles = 4},
      {.op = matmul_reduce_scatter, .ranks = 4, .m = 800, .n = 1300, .k = 300, .tiles = 8},
  };
}

// One rank's operator and operands.
struct Ready {
  Ready(World& world, const Problem& problem)
      : op(world, problem), operands(make_operands(problem, {}, world.rank())) {
    op.prepare(operands.b());
    const Shapes held = op.shapes();
    c.resize(static_cast<std::size_t>(held.c_rows * held.c_columns *
                                      (problem.dtype_c == OutputType::fp32 ? 4 : 2)));
  }
  Operator op;
  Operands operands;
  std::vector<std::uint8_t> c;
  Samples ns;
};

// Launches of all problems in turn, so that whatever else the machine does strikes all of them.
std::string run_in_turn(World& world, const std::vector<Problem>& problems, int launches) {
  std::vector<std::unique_ptr<Ready>> ready;
  for (const Problem& problem : problems) ready.push_back(std::make_unique<Ready>(world, problem));
  for (int launch = -1; launch < launches; ++launch) {
    if (world.rank() == 0) {
      world.progress(cat("fit: ", world.size(), " ranks, launch ", launch + 1, " of ", launches));
    }
    for (const auto& one : ready) {
      world.barrier();
      const double begin = now_ns();
      one->op.run(one->operands.a(), one->c.data());
      if (launch >= 0) one->ns.push_back(now_ns() - begin);
    }
  }
  std::ostringstream text;
  for (const auto& one : ready) {
    text << median(one->ns) << ' ' << *std::ranges::min_element(one->ns) << ' ';
  }
  return text.str();
}

// Fills in what the points of one world took.
void run_world(std::vector<FitPoint*>& points, int launches, const CalibrateProgress& progress) {
  std::vector<Problem> problems;
  for (const FitPoint* point : points) problems.push_back(point->problem);
  const auto outcomes = World::spawn(
      {.ranks = problems[0].ranks},
      [&](World& world) { return run_in_turn(world, problems, launches); },
      [&](int, const std::string& line) {
        if (progress) progress(line);
      });
  for (const RankOutcome& outcome : outcomes) {
    if (outcome.exit_code != 0) throw Error(ErrorKind::environment, outcome.message);
    std::istringstream numbers(outcome.result);
    for (FitPoint* point : points) {
      double usual = 0;
      double fastest = 0;
      numbers >> usual >> fastest;
      point->measured = std::max(point->measured, usual * 1e-9);
      point->fastest = std::max(point->fastest, fastest * 1e-9);
    }
  }
}

double predict(const Problem& problem, Device device) {
  const int workers = default_workers(problem.ranks);
  device.cores = workers;
  const Plan plan = make_plan(problem, device);
  return static_cast<double>(run_timed(plan, {.workers = workers}).makespan) * 1e-12;
}

std::string milliseconds(double seconds) {
  std::ostringstream text;
  text.precision(3);
  text << std::fixed << seconds * 1e3;
  return text.str();
}

std::string percent(double part) {
  std::ostringstream text;
  text.precision(1);
  text << std::fixed << std::showpos << part * 100;
  return text.str();
}

void summarise(FitReport& report, const FitOptions& options) {
  Samples errors;
  TextTable table({"operator", "R", "m", "n", "k", "tiles", "fastest ms", "measured ms",
                   "predicted ms", "error %"});
  for (const FitPoint& point : report.points) {
    const Problem& it = point.problem;
    errors.push_back(std::abs(point.error()));
    table.add_row({std::string(to_string(it.op)), cat(it.ranks), cat(it.m), cat(it.n), cat(it.k),
                   cat(it.tiles.value_or(1)), milliseconds(point.fastest),
                   milliseconds(point.measured), milliseconds(point.predicted),
                   percent(point.error())});
  }
  report.median_error = median(errors);
  report.worst_error = std::ranges::max(errors);
  std::ostringstream text;
  text.precision(1);
  text << table.to_string() << "measured: median of " << options.launches
       << " launches, largest rank; predicted with device " << options.device << '\n'
       << std::fixed << "median error " << report.median_error * 100 << " %, worst "
       << report.worst_error * 100 << " %, " << report.points.size() << " problems\n";
  report.text = text.str();
}

}  // namespace

FitReport fit(const FitOptions& options, const CalibrateProgress& progress) {
  const Device device = options.device_json.empty()
                            ? load_device(options.device)
                            : parse_device(options.device_json, options.device);
  if (!device.shared_workers) {
    throw Error(ErrorKind::refused, cat("device ", options.device,
                                        ": it has cores of its own; use host or what "
                                        "'tandem selftest --calibrate --out FILE' wrote"));
  }
  if (options.launches < 1) {
    throw Error(ErrorKind::refused, cat("launches is ", options.launches, "; use 1 or more"));
  }
  FitReport report;
  for (const Problem& problem : fit_problems()) report.points.push_back({.problem = problem});
  for (const int ranks : {1, 2, 4}) {
    std::vector<FitPoint*> points;
    for (FitPoint& point : report.points) {
      if (point.problem.ranks == ranks) points.push_back(&point);
    }
    run_world(points, options.launches, progress);
  }
  for (FitPoint& point : report.points) {
    if (progress) progress("fit: predicting");
    point.predicted = predict(point.problem, device);
  }
  summarise(report, options);
  return report;
}

}  // namespace tandem
