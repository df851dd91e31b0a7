// SPDX-License-Identifier: Apache-2.0
// The micro-kernels. Each thing is done many times by kernels that look at the clock themselves;
// what counts is the lower quartile of a rank and then the median over the ranks.
#include "calibrating/probes.h"

#include <algorithm>
#include <sstream>

#include "base/strings.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr int kWorkersMax = 256;  // that a world allows

std::string to_text(const Values& values) {
  std::ostringstream text;
  text.precision(17);
  for (const auto& [name, value] : values) text << name << '\t' << value << '\n';
  return text.str();
}

// Median over the ranks that measured something.
Values spawn(const WorldOptions& options, const World::Main& main,
             const CalibrateProgress& progress) {
  std::map<std::string, Samples> all;
  const auto outcomes = World::spawn(options, main, [&](int, const std::string& line) {
    if (progress) progress(line);
  });
  for (const RankOutcome& outcome : outcomes) {
    if (outcome.exit_code != 0) throw Error(ErrorKind::environment, outcome.message);
    std::istringstream lines(outcome.result);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t tab = line.find('\t');
      all[line.substr(0, tab)].push_back(std::stod(line.substr(tab + 1)));
    }
  }
  Values values;
  for (const auto& [name, samples] : all) values[name] = median(samples);
  return values;
}

}  // namespace

Measured run_probes(int processors, const CalibrateProgress& progress) {
  const int ranks = std::clamp(processors, 2, kRanksMax);
  const int workers = std::clamp(processors, 1, kWorkersMax);
  Values values = spawn(
      {.ranks = ranks, .workers = 1},
      [&](World& world) {
        const auto say = [&](const char* what) {
          if (world.rank() == 0) world.progress(cat("calibrate: ", what));
        };
        say("operands");
        ProbeRank probe(world);
        Values found;
        say("products");
        probe_products(probe, found);
        probe_rows(probe, found);
        probe_cold(probe, found);
        say("stores and copies");
        probe_stores(probe, found);
        probe_copies(probe, "", found, true);
        probe_copies(probe, " alone", found, world.rank() == 0);
        say("reduction");
        probe_reduction(probe, found);
        say("synchronisation");
        probe_flags(probe, found);
        probe_epochs(probe, found);
        probe_syncs(probe, 1, found);
        probe_launches(probe, found);
        return to_text(found);
      },
      progress);
  const Values one = spawn(
      {.ranks = 1, .workers = workers},
      [&](World& world) {
        world.progress("calibrate: workers of one rank");
        ProbeRank probe(world);
        Values found;
        probe_syncs(probe, workers, found);
        Values alone;
        probe_launches(probe, alone);
        found["launch, one rank"] = alone["launch"];
        return to_text(found);
      },
      progress);
  values.insert(one.begin(), one.end());
  Measured measured;
  for (const ProductPoint& point : product_points()) {
    ProductPoint& kept = measured.products.emplace_back(point);
    kept.ns = values.at(name_of(point));
  }
  std::erase_if(values, [](const auto& value) { return value.first.starts_with("product "); });
  measured.ns = std::move(values);
  return measured;
}

}  // namespace tandem
