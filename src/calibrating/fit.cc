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

Problem problem(OperatorKind op, int ranks, std::int64_t m, std::int64_t n, std::int64_t k,
                std::int64_t tiles) {
  return {.op = op, .ranks = ranks, .m = m, .n = n, .k = k, .tiles = tiles};
}

// A few hundred microseconds to some ten milliseconds each. Extents are none of the micro-kernels'.
std::vector<Problem> fit_problems() {
  using enum OperatorKind;
  return {
      problem(all_to_all_matmul, 1, 300, 500, 700, 2),
      problem(all_to_all_matmul, 2, 200, 768, 1500, 1),
      problem(all_to_all_matmul, 2, 384, 1000, 1200, 4),
      problem(all_to_all_matmul, 4, 100, 512, 2000, 1),
      problem(all_to_all_matmul, 4, 250, 517, 1600, 4),
      problem(all_to_all_matmul, 4, 128, 1500, 1280, 2),
      problem(all_gather_matmul, 1, 500, 600, 800, 1),
      problem(all_gather_matmul, 2, 160, 900, 1100, 1),
      problem(all_gather_matmul, 2, 320, 640, 768, 5),
      problem(all_gather_matmul, 4, 64, 512, 2500, 1),
      problem(all_gather_matmul, 4, 200, 700, 900, 4),
      problem(all_gather_matmul, 4, 120, 1200, 640, 8),
      problem(matmul_all_gather, 1, 400, 800, 600, 2),
      problem(matmul_all_gather, 2, 300, 1600, 500, 1),
      problem(matmul_all_gather, 2, 509, 1030, 1000, 4),
      problem(matmul_all_gather, 4, 180, 2200, 700, 1),
      problem(matmul_all_gather, 4, 360, 2000, 800, 4),
      problem(matmul_all_gather, 4, 720, 1100, 400, 12),
      problem(matmul_reduce_scatter, 1, 350, 700, 900, 3),
      problem(matmul_reduce_scatter, 2, 400, 800, 700, 1),
      problem(matmul_reduce_scatter, 2, 700, 512, 1300, 4),
      problem(matmul_reduce_scatter, 4, 420, 600, 1000, 1),
      problem(matmul_reduce_scatter, 4, 1022, 512, 768, 4),
      problem(matmul_reduce_scatter, 4, 800, 1300, 300, 8),
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
