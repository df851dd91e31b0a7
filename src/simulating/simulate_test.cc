// SPDX-License-Identifier: Apache-2.0
#include "tandem/simulating.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tandem/error.h"

namespace tandem {
namespace {

using nlohmann::json;

Problem scatter_problem() {
  Problem problem;
  problem.op = OperatorKind::matmul_reduce_scatter;
  problem.ranks = 4;
  problem.m = 2048;
  problem.n = 1024;
  problem.k = 1024;
  problem.tiles = 4;
  return problem;
}

std::string refusal(const Problem& problem, const SimulateOptions& options) {
  try {
    simulate(problem, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    return error.what();
  }
  return "";
}

TEST(Simulate, TheSameInputGivesTheSameBytes) {
  SimulateOptions options;
  options.sweep = SweepTiles::yes;
  options.trace = true;
  options.page = true;
  const SimulateReport first = simulate(scatter_problem(), options);
  const SimulateReport second = simulate(scatter_problem(), options);
  EXPECT_EQ(first.text, second.text);
  EXPECT_EQ(first.json, second.json);
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_EQ(first.page, second.page);
  EXPECT_GT(first.trace.size(), 10'000u);
}

TEST(Simulate, EveryOperatorRunsOnEveryDevice) {
  for (const char* device : {"ascend950pr", "ascend950pr-28", "host"}) {
    for (const auto& [op, name] : kEnumNames<OperatorKind>) {
      Problem problem = scatter_problem();
      problem.op = op;
      SimulateOptions options;
      options.device = device;
      const json report = json::parse(simulate(problem, options).json);
      EXPECT_EQ(report["operator"], name);
      EXPECT_GT(report["time_ps"], 0) << name << " on " << device;
      EXPECT_EQ(report["rank"].size(), 4u);
      // Neither half alone takes longer than both together, but for what less contention gains.
      EXPECT_LT(report["products_ps"], report["time_ps"].get<double>() * 1.1);
      EXPECT_LT(report["transfers_ps"], report["time_ps"].get<double>() * 1.1);
    }
  }
}

TEST(Simulate, OneRankHasNothingToHide) {
  Problem problem = scatter_problem();
  problem.op = OperatorKind::all_gather_matmul;
  problem.ranks = 1;
  const SimulateReport report = simulate(problem);
  EXPECT_NE(report.text.find("masking degree     -"), std::string::npos) << report.text;
  EXPECT_EQ(json::parse(report.json)["rank"][0]["sent_bytes"], 0);
}

TEST(Simulate, ASweepMarksTheFastestTileCount) {
  SimulateOptions options;
  options.sweep = SweepTiles::yes;
  const json report = json::parse(simulate(scatter_problem(), options).json);
  double best = 1e30, marked = 0;
  int marks = 0;
  std::int64_t tiles = 1;
  for (const json& point : report["sweep"]) {
    EXPECT_EQ(point["tiles"], tiles);
    tiles *= 2;
    if (point.contains("refused")) continue;
    best = std::min(best, point["time_ps"].get<double>());
    if (!point["best"]) continue;
    marked = point["time_ps"];
    ++marks;
  }
  EXPECT_EQ(marks, 1);
  EXPECT_EQ(marked, best);
  EXPECT_EQ(report["time_ps"], best);
  EXPECT_EQ(tiles, 64);  // 512 rows a rank, 16 of them in each of 32 rounds
}

TEST(Simulate, RefusesWhatMakesNoSense) {
  SimulateOptions options;
  options.stragglers = {{4, 10}, {1, -1}};
  options.scales = {{"speed", 2}, {"hbm_mb_s", 0}};
  const std::string text = refusal(scatter_problem(), options);
  for (const char* part :
       {"cost speed is unknown; use clock_mhz,", "hbm_mb_s times 0; use a factor above 0",
        "straggler is rank 4; use 0 to 3", "straggler starts -1 us late"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  }
  options = {};
  options.device = "abacus";
  EXPECT_NE(refusal(scatter_problem(), options).find("no built-in device"), std::string::npos);
  Problem problem = scatter_problem();
  problem.n = 1023;
  EXPECT_NE(refusal(problem, {}).find("n 1023"), std::string::npos) << refusal(problem, {});
}

TEST(Simulate, SaysWhatWasChanged) {
  SimulateOptions options;
  options.stragglers = {{2, 12.5}};
  options.scales = {{"link_mb_s", 0.5}};
  const std::string text = simulate(scatter_problem(), options).text;
  EXPECT_NE(text.find("changed: link_mb_s times 0.5\n"), std::string::npos);
  EXPECT_NE(text.find("changed: rank 2 starts 12.5 us late\n"), std::string::npos);
}

}  // namespace
}  // namespace tandem
