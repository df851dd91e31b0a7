// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/strings.h"
#include "ops/registry.h"
#include "report/device_json.h"
#include "report/json_input.h"
#include "report/sweep_page.h"
#include "report/trace.h"
#include "simulating/texts.h"
#include "tandem/error.h"
#include "tandem/simulating.h"
#include "tandem/world.h"

namespace tandem {
namespace {

constexpr double kLateMax = 1e9;  // microseconds

DeviceFile device_file(const std::string& name) {
  const std::vector<std::string> names = device_names();
  if (std::ranges::find(names, name) != names.end()) {
    return parse_device_file(device_text(name), name);
  }
  load_device(name);  // refuses a file that is not there, with the names that are
  return parse_device_file(read_small_file(name), name);
}

struct Setup {
  Device device;
  SimulateContext context;
  MeasureOptions measure;
};

void scale_costs(const SimulateOptions& options, Setup& setup, JsonProblems& problems) {
  for (const auto& scale : options.scales) {
    const std::string& name = scale.first;
    const double factor = scale.second;
    bool found = false;
    std::vector<std::string_view> names;
    visit_costs(setup.device.costs, [&](std::string_view cost, std::int64_t& value) {
      names.push_back(cost);
      if (cost != name) return;
      found = true;
      if (!(factor > 0) || factor > 1e6) return;
      value = static_cast<std::int64_t>(std::llround(static_cast<double>(value) * factor));
    });
    if (!found) {
      problems.add(cat("cost ", name, " is unknown"), "use " + joined_words(names));
    } else if (!(factor > 0) || factor > 1e6) {
      problems.add(cat(name, " times ", factor), "use a factor above 0 and up to 1000000");
    } else {
      setup.context.changes.push_back(cat(name, " times ", factor));
    }
  }
}

void delay_ranks(const Problem& problem, const SimulateOptions& options, Setup& setup,
                 JsonProblems& problems) {
  setup.measure.late_start.assign(std::max(problem.ranks, 0), 0);
  for (const auto& [rank, late] : options.stragglers) {
    if (rank < 0 || rank >= problem.ranks) {
      problems.add(cat("straggler is rank ", rank), cat("use 0 to ", problem.ranks - 1));
    } else if (!(late >= 0) || late > kLateMax) {
      problems.add(cat("straggler starts ", late, " us late"), cat("use 0 to ", kLateMax));
    } else {
      setup.measure.late_start[rank] = static_cast<Picoseconds>(std::llround(late * 1e6));
      setup.context.changes.push_back(cat("rank ", rank, " starts ", late, " us late"));
    }
  }
}

Setup set_up(const Problem& problem, const SimulateOptions& options) {
  const DeviceFile file = device_file(options.device);
  Setup setup;
  setup.device = file.device;
  setup.context.device = file.device.name;
  for (const auto& [path, source] : file.sources) {
    if (!path.starts_with("costs.")) continue;
    ++setup.context.costs;
    if (source.starts_with("guess")) ++setup.context.guesses;
  }
  JsonProblems problems("simulate");
  scale_costs(options, setup, problems);
  delay_ranks(problem, options, setup, problems);
  if (options.workers && (*options.workers < 1 || *options.workers > 1024)) {
    problems.add(cat("workers is ", *options.workers), "use 1 to 1024");
  }
  problems.throw_if_any();
  if (setup.device.shared_workers) {
    setup.measure.workers = options.workers.value_or(default_workers(problem.ranks));
    setup.device.cores = setup.measure.workers;
  }
  return setup;
}

Measurement measure_tiles(const Problem& problem, const Setup& setup) {
  return measure(std::make_shared<const Plan>(make_plan(problem, setup.device)), setup.measure);
}

// 1, 2, 4, … rounds, while a round has 16 rows.
std::vector<SweepPoint> sweep(const Problem& problem, const Setup& setup) {
  std::vector<SweepPoint> points;
  std::int64_t rows = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t tiles = 1; tiles == 1 || tiles <= rows / 16; tiles *= 2) {
    Problem with = problem;
    with.tiles = tiles;
    with.tile_rows.reset();
    SweepPoint point{.tiles = tiles, .measurement = nullptr, .refusal = {}};
    try {
      auto measurement = std::make_shared<Measurement>(measure_tiles(with, setup));
      rows = 0;
      for (const Slice& slice : measurement->plan->slices) rows += slice.count;
      // A dozen timelines of a large shape would not fit in memory.
      measurement->timeline.slices = {};
      measurement->timeline.waits = {};
      measurement->path = {};
      point.measurement = measurement;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::refused) throw;
      point.refusal = error.what();
      if (tiles == 1) throw;  // nothing can be planned
    }
    points.push_back(std::move(point));
  }
  return points;
}

std::size_t best_of(const std::vector<SweepPoint>& points) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (!points[i].measurement) continue;
    if (points[i].measurement->timeline.makespan < points[best].measurement->timeline.makespan) {
      best = i;
    }
  }
  return best;
}

SweepPage page_of(const SimulateContext& context, const Measurement& chosen,
                  const std::vector<SweepPoint>& points, std::size_t best) {
  SweepPage page;
  const Problem& problem = chosen.plan->problem;
  page.title = cat(to_string(problem.op), " on ", context.device);
  page.subtitle = cat("R ", problem.ranks, ", m ", problem.m, ", n ", problem.n, ", k ", problem.k);
  page.timeline = &chosen.timeline;
  page.rank = chosen.slowest();
  page.text = measurement_text(context, chosen);
  if (!points.empty()) page.text += sweep_text(points, best);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].measurement) continue;
    const Measurement& it = *points[i].measurement;
    page.points.push_back({.tiles = points[i].tiles,
                           .time = it.timeline.makespan,
                           .products = it.products,
                           .transfers = it.transfers,
                           .exposed = it.exposed(),
                           .masking = it.masking,
                           .best = i == best});
  }
  return page;
}

}  // namespace

SimulateReport simulate(const Problem& problem, const SimulateOptions& options) {
  const Setup setup = set_up(problem, options);
  std::vector<SweepPoint> points;
  std::size_t best = 0;
  Problem chosen_problem = problem;
  if (options.sweep == SweepTiles::yes) {
    points = sweep(problem, setup);
    best = best_of(points);
    chosen_problem.tiles = points[best].tiles;
    chosen_problem.tile_rows.reset();
  }
  Setup with_samples = setup;
  with_samples.measure.samples = options.trace;
  const Measurement chosen = measure_tiles(chosen_problem, with_samples);
  SimulateReport report;
  report.text = measurement_text(setup.context, chosen);
  if (!points.empty()) report.text += sweep_text(points, best);
  report.json = simulation_json(setup.context, chosen, points, best);
  if (options.trace) report.trace = trace_json(chosen.timeline);
  if (options.page) report.page = print_sweep_page(page_of(setup.context, chosen, points, best));
  return report;
}

}  // namespace tandem
