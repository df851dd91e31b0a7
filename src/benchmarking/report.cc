// SPDX-License-Identifier: Apache-2.0
// Results for people, for programs and as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/sweep_page.h"
#include "report/table.h"
#include "tandem/benchmarking.h"
#include "tandem/case.h"

namespace tandem {
namespace {

using nlohmann::ordered_json;

const BenchArmResult* find_arm(const BenchResult& result, BenchArm arm) {
  const auto found = std::ranges::find(result.arms, arm, &BenchArmResult::arm);
  return found == result.arms.end() ? nullptr : &*found;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f}", 100 * part / whole) : "-";
}

// The share of the peaks says something of arms with products of their own alone.
bool does_the_work(const BenchResult& result, BenchArm arm) {
  return arm != BenchArm::comm && result.options.compute == BenchCompute::real;
}

std::vector<std::string> row_of(const BenchResult& result, const BenchArmResult& arm) {
  const Problem& problem = result.problem;
  const BenchRatio& ratio = arm.ratio;
  const bool compares = arm.arm == BenchArm::serial || arm.arm == BenchArm::baseline;
  const bool has_ratio = compares && ratio.median > 0;
  const double seconds = arm.seconds.median;
  const bool works = does_the_work(result, arm.arm) && seconds > 0;
  const double peak = arm.arm == BenchArm::baseline ? result.fma_peak : result.product_peak;
  return {std::string(to_string(problem.op)),
          std::to_string(problem.ranks),
          std::to_string(problem.m),
          std::to_string(problem.n),
          std::to_string(problem.k),
          std::to_string(result.rounds),
          std::string(to_string(arm.arm)),
          milliseconds(seconds),
          fmt::format("{}-{}", milliseconds(arm.seconds.low), milliseconds(arm.seconds.high)),
          has_ratio ? fmt::format("{:.3f}", ratio.median) : "",
          has_ratio ? fmt::format("{:.3f}-{:.3f}", ratio.low, ratio.high) : "",
          works ? percent(result.flops / seconds, peak) : "",
          works ? percent(result.bytes / seconds, result.read_bandwidth) : "",
          std::to_string(arm.launches),
          std::to_string(arm.flushes),
          !has_ratio       ? ""
          : ratio.high < 1 ? "loses"
          : ratio.low < 1  ? "even"
                           : "wins"};
}

// How long the fused operator takes beside the longer of its halves; 0 without one of the three.
double makespan_ratio(const BenchResult& result) {
  const BenchArmResult* compute = find_arm(result, BenchArm::compute);
  const BenchArmResult* comm = find_arm(result, BenchArm::comm);
  const BenchArmResult* fused = find_arm(result, BenchArm::fused);
  if (compute == nullptr || comm == nullptr || fused == nullptr) return 0;
  const double longer = std::max(compute->seconds.median, comm->seconds.median);
  return longer > 0 ? fused->seconds.median / longer : 0;
}

// The degree is a difference of times over the shorter half: noise where that half is shorter than
// launches differ from each other.
std::string masking_line(const BenchResult& result) {
  const double compute = find_arm(result, BenchArm::compute)->seconds.median;
  const double comm = find_arm(result, BenchArm::comm)->seconds.median;
  const BenchSpread& fused = find_arm(result, BenchArm::fused)->seconds;
  if (std::min(compute, comm) < fused.high - fused.low) {
    return fmt::format(
        "  masking degree not told: the shorter half, {} ms, takes less than fused launches differ "
        "by\n",
        milliseconds(std::min(compute, comm)));
  }
  const double ideal = result.ideal_masking;
  return fmt::format(
      "  masking degree {:.2f}, of {:.2f} that {} rounds in this order allow{}; fused takes {:.2f} "
      "times the longer half\n",
      result.masking, ideal, result.rounds,
      ideal > 0 ? fmt::format(": {:.0f} % of it", 100 * result.masking / ideal) : "",
      makespan_ratio(result));
}

std::string context_lines(const BenchResult& result) {
  std::string text = fmt::format(
      "{} R {} over {}: caches {}, flush of {} MiB a rank; of all ranks together: peak of FP32 "
      "{:.1f} GFLOP/s, of our products {:.1f}, read {:.1f} GB/s\n",
      to_string(result.problem.op), result.problem.ranks, result.transport,
      to_string(result.options.caches), result.flush_bytes >> 20, result.fma_peak / 1e9,
      result.product_peak / 1e9, result.read_bandwidth / 1e9);
  if (!result.sgemm.empty()) {
    text += fmt::format("  baseline: {}; error {:.0f} % of the bound on {} elements\n",
                        result.sgemm, 100 * result.baseline_bound, result.checked_elements);
  }
  if (result.sleep_gflops > 0) {
    text += fmt::format("  products sleep, at {:.4g} GFLOP/s of a rank\n", result.sleep_gflops);
  }
  if (result.masking != 0 || result.ideal_masking != 0) {
    text += masking_line(result);
    text += fmt::format("  cannot hide: {}\n", result.cannot_hide);
  }
  for (const std::string& note : result.notes) text += fmt::format("  note: {}\n", note);
  return text;
}

ordered_json spread_json(const BenchArmResult& arm) {
  ordered_json out{{"arm", to_string(arm.arm)},     {"seconds", arm.seconds.median},
                   {"seconds_10", arm.seconds.low}, {"seconds_90", arm.seconds.high},
                   {"launches", arm.launches},      {"flushes", arm.flushes}};
  out["ratio"] = nullptr;
  if (arm.ratio.median > 0) {
    out["ratio"] = {
        {"median", arm.ratio.median}, {"low_95", arm.ratio.low}, {"high_95", arm.ratio.high}};
  }
  return out;
}

ordered_json case_json(const BenchResult& result) {
  const Problem& problem = result.problem;
  ordered_json out{{"operator", to_string(problem.op)},
                   {"ranks", problem.ranks},
                   {"m", problem.m},
                   {"n", problem.n},
                   {"k", problem.k},
                   {"rounds", result.rounds},
                   {"blocks", result.blocks},
                   {"verdict", to_string(result.verdict)},
                   {"exit_code", result.exit_code},
                   {"transport", result.transport},
                   {"compute", to_string(result.options.compute)},
                   {"sleep_gflops", result.sleep_gflops},
                   {"caches", to_string(result.options.caches)},
                   {"pin", to_string(result.options.pin)},
                   {"messages", result.messages},
                   {"notes", result.notes},
                   {"reproduce", result.reproduce},
                   {"sgemm", result.sgemm},
                   {"masking_degree", result.masking},
                   {"ideal_masking_degree", result.ideal_masking},
                   {"cannot_hide", result.cannot_hide},
                   {"makespan_ratio", makespan_ratio(result)},
                   {"flops", result.flops},
                   {"bytes", result.bytes},
                   {"fma_peak", result.fma_peak},
                   {"product_peak", result.product_peak},
                   {"read_bandwidth", result.read_bandwidth},
                   {"flush_bytes", result.flush_bytes},
                   {"checked_elements", result.checked_elements},
                   {"baseline_bound_ratio", result.baseline_bound}};
  out["arms"] = ordered_json::array();
  for (const BenchArmResult& arm : result.arms) out["arms"].push_back(spread_json(arm));
  return out;
}

Picoseconds picoseconds(const BenchResult& result, BenchArm arm) {
  const BenchArmResult* found = find_arm(result, arm);
  return found == nullptr ? 0 : static_cast<Picoseconds>(found->seconds.median * 1e12);
}

}  // namespace

std::string bench_table(const std::vector<BenchResult>& results) {
  TextTable table({"operator", "R", "m", "n", "k", "rounds", "arm", "ms", "10-90 %", "/fused",
                   "95 %", "% peak", "% read", "launches", "flushes", "fused"});
  std::string lines;
  for (const BenchResult& result : results) {
    for (const BenchArmResult& arm : result.arms) table.add_row(row_of(result, arm));
    if (!result.arms.empty()) lines += context_lines(result);
  }
  return lines + table.to_string();
}

std::string bench_verdict(const std::vector<BenchResult>& results) {
  std::vector<CaseResult> cases(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) cases[i].verdict = results[i].verdict;
  return verdict_line(cases);
}

int bench_exit_code(const std::vector<BenchResult>& results) {
  std::vector<CaseResult> cases(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    cases[i].verdict = results[i].verdict;
    cases[i].exit_code = results[i].exit_code;
  }
  return exit_code_of(cases);
}

std::string bench_json(const std::vector<BenchResult>& results) {
  WorldOptions world;
  if (!results.empty()) world.transport = results[0].transport;
  // The machine and the build stand in every report alike.
  ordered_json out = ordered_json::parse(results_json(world, {}));
  const int code = bench_exit_code(results);
  out["verdict"] = code == 0 ? "pass" : code == 2 ? "refused" : "fail";
  int passed = 0;
  int refused = 0;
  for (const BenchResult& result : results) {
    passed += result.verdict == Verdict::pass ? 1 : 0;
    refused += result.verdict == Verdict::refused ? 1 : 0;
    out["cases"].push_back(case_json(result));
  }
  out["passed"] = passed;
  out["refused"] = refused;
  out["failed"] = static_cast<int>(results.size()) - passed - refused;
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

std::string bench_page(const std::vector<BenchResult>& results) {
  SweepPage page;
  page.text = bench_table(results);
  std::size_t best = results.size();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (picoseconds(results[i], BenchArm::fused) == 0) continue;
    const bool better = best == results.size() || picoseconds(results[i], BenchArm::fused) <
                                                      picoseconds(results[best], BenchArm::fused);
    if (better) best = i;
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const BenchResult& result = results[i];
    const Picoseconds fused = picoseconds(result, BenchArm::fused);
    if (fused == 0) continue;
    const Picoseconds products = picoseconds(result, BenchArm::compute);
    page.points.push_back({.tiles = result.rounds,
                           .time = fused,
                           .products = products,
                           .transfers = picoseconds(result, BenchArm::comm),
                           .exposed = std::max<Picoseconds>(fused - products, 0),
                           .masking = result.masking,
                           .best = i == best});
  }
  if (results.empty()) return print_sweep_page(page);
  const Problem& problem = results[0].problem;
  page.title = fmt::format("{} on this machine", to_string(problem.op));
  page.subtitle = fmt::format(
      "R {}, m {}, n {}, k {}; exposed: what the fused operator takes "
      "beyond its products alone",
      problem.ranks, problem.m, problem.n, problem.k);
  return print_sweep_page(page);
}

}  // namespace tandem
