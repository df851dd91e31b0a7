// SPDX-License-Identifier: Apache-2.0
#include "tandem/benchmarking.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <span>

#include "base/strings.h"
#include "benchmarking/rank_run.h"
#include "benchmarking/statistics.h"
#include "cases/results.h"
#include "simulating/ideal.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::string bench_command(const WorldOptions& world, const CaseOptions& asked,
                          const BenchOptions& options) {
  CaseOptions plain = asked;
  plain.inputs = options.inputs;
  std::string command = command_line(world, plain);
  const std::string run = "tandem run ";
  if (command.starts_with(run)) command = "tandem bench " + command.substr(run.size());
  std::string arms;
  for (const BenchArm arm : options.arms) {
    arms += cat(arms.empty() ? " --arms " : ",", to_string(arm));
  }
  command += arms;
  if (options.caches == BenchCaches::warm) command += " --warm";
  if (options.pin == Pinning::off) command += " --pin off";
  if (options.launches > 0) command += cat(" --launches ", options.launches);
  if (options.compute == BenchCompute::sleep) command += " --compute sleep";
  if (options.sleep_gflops) command += cat(" --sleep-gflops ", *options.sleep_gflops);
  return command;
}

// Of each launch the slowest rank.
std::vector<double> launch_seconds(const std::vector<BenchRankReport>& reports, std::size_t arm) {
  std::vector<double> slowest = reports[0].seconds[arm];
  for (const BenchRankReport& report : reports) {
    for (std::size_t launch = 0; launch < slowest.size(); ++launch) {
      slowest[launch] = std::max(slowest[launch], report.seconds[arm][launch]);
    }
  }
  return slowest;
}

double median_seconds(const BenchResult& result, BenchArm arm) {
  for (const BenchArmResult& found : result.arms) {
    if (found.arm == arm) return found.seconds.median;
  }
  return 0;
}

void fill_arms(const BenchSetup& setup, const std::vector<BenchRankReport>& reports,
               BenchResult& result) {
  std::vector<double> fused;
  for (std::size_t i = 0; i < setup.arms.size(); ++i) {
    const BenchArm arm = setup.arms[i];
    if (arm == BenchArm::baseline && reports[0].sgemm.empty()) {
      result.notes.push_back("no baseline: no BLAS is installed");
      continue;
    }
    const std::vector<double> seconds = launch_seconds(reports, i);
    if (arm == BenchArm::fused) fused = seconds;
    BenchArmResult& filled = result.arms.emplace_back();
    filled.arm = arm;
    filled.seconds = spread_of(seconds);
    filled.launches = static_cast<int>(seconds.size());
    filled.flushes = std::numeric_limits<int>::max();
    for (const BenchRankReport& report : reports) {
      filled.flushes = std::min(filled.flushes, report.flushes[i]);
    }
    if (fused.empty()) continue;
    std::vector<double> ratios;
    for (std::size_t launch = 0; launch < seconds.size(); ++launch) {
      ratios.push_back(seconds[launch] / fused[launch]);
    }
    filled.ratio = interval_of(std::move(ratios));
  }
}

void fill_masking(const BenchSetup& setup, BenchResult& result) {
  const auto picoseconds = [&](BenchArm arm) {
    return static_cast<Picoseconds>(median_seconds(result, arm) * 1e12);
  };
  const Picoseconds products = picoseconds(BenchArm::compute);
  const Picoseconds transfers = picoseconds(BenchArm::comm);
  const Picoseconds fused = picoseconds(BenchArm::fused);
  if (products == 0 || transfers == 0 || fused == 0 || setup.problem.ranks == 1) return;
  const Ideal ideal = ideal_of(setup.plan, products, transfers);
  result.masking = masking_degree(products, transfers, fused);
  result.ideal_masking = masking_degree(products, transfers, ideal.time);
  result.cannot_hide = ideal.exposed;
}

// What the work needs, whatever the form in which it is done.
void fill_work(const Plan& plan, BenchResult& result) {
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const Shapes held = shapes_of(plan.problem, rank);
    result.flops += flops_of_rank(plan, rank);
    const auto mx_bytes = [](std::int64_t lines, std::int64_t length) {
      return static_cast<double>(lines) * static_cast<double>(length + scale_bytes(length));
    };
    result.bytes += mx_bytes(held.a_rows, held.a_k) + mx_bytes(held.b_columns, held.b_k);
    result.bytes +=
        static_cast<double>(held.c_rows * held.c_columns * element_bytes(plan.problem.dtype_c));
  }
}

void fill_result(const BenchSetup& setup, const std::vector<BenchRankReport>& reports,
                 BenchResult& result) {
  const BenchRankReport& first = reports[0];
  if (!first.refusal.empty()) {
    result.verdict = Verdict::refused;
    result.exit_code = exit_code(ErrorKind::refused);
    result.messages = {first.refusal};
    return;
  }
  result.rounds = first.rounds;
  result.blocks = first.blocks;
  result.sgemm = first.sgemm;
  result.flush_bytes = first.flush_bytes;
  result.sleep_gflops = first.sleep_gflops;
  for (const BenchRankReport& report : reports) {
    result.fma_peak += report.fma_peak;
    result.product_peak += report.product_peak;
    result.read_bandwidth += report.read_bandwidth;
    result.checked_elements += report.checked_elements;
    result.baseline_bound = std::max(result.baseline_bound, report.baseline_bound);
    if (!report.failure.empty()) result.messages.push_back(report.failure);
  }
  result.verdict = result.messages.empty() ? Verdict::pass : Verdict::fail;
  result.exit_code = result.messages.empty() ? 0 : 1;
  if (!result.messages.empty()) return;
  result.notes = setup.notes;
  if (setup.sleeps()) {
    result.notes.push_back(
        "timed launches compute nothing: the arms were checked before, with real products");
  }
  fill_work(setup.plan, result);
  fill_arms(setup, reports, result);
  fill_masking(setup, result);
  if (setup.options.pin == Pinning::on && !first.pinned) {
    result.notes.push_back(result.transport == "shm"
                               ? "ranks are not pinned: more ranks than processors"
                               : "ranks are not pinned: over links each has a second thread");
  }
}

// A case that may run.
struct PreparedBench {
  std::unique_ptr<BenchSetup> setup;
  BenchResult* result = nullptr;
};

// Cases that one world runs.
class BenchGroup {
 public:
  BenchGroup(const WorldOptions& world, std::span<PreparedBench> cases,
             const CaseProgress& progress)
      : world_(world), cases_(cases), progress_(progress), lines_(cases.size()) {
    world_.ranks = cases[0].setup->problem.ranks;
    for (auto& lines : lines_) lines.resize(static_cast<std::size_t>(world_.ranks));
  }

  // False: interrupted, or the world has ended.
  bool run() {
    std::vector<RankOutcome> outcomes;
    try {
      if (world_.transport == "shm") near_ = std::make_unique<SharedBarrier>();
      outcomes = World::spawn(
          world_, [this](World& world) { return rank_main(world); },
          [this](int rank, const std::string& line) { take_line(rank, line); });
    } catch (const Error& error) {
      outcomes = {{exit_code(error.kind()), {}, error.what(), false}};
    }
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      BenchResult& result = *cases_[i].result;
      if (std::ranges::find(lines_[i], "") == lines_[i].end()) {
        std::vector<BenchRankReport> reports;
        for (const std::string& line : lines_[i]) reports.push_back(parse_bench_report(line));
        fill_result(*cases_[i].setup, reports, result);
        continue;
      }
      CaseResult failure;
      note_world_failure(outcomes, failure);
      result.verdict = failure.verdict;
      result.exit_code = failure.exit_code;
      result.messages = failure.messages;
      skip_from(i + 1, result.exit_code);
      const bool interrupted = result.exit_code > 128 && result.exit_code != 134;
      return !interrupted && !world_.membership;
    }
    return true;
  }

 private:
  std::string rank_main(World& world) {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (world.rank() == 0) world.progress(cases_[i].result->reproduce);
      SpinBarrier* near = near_ != nullptr ? &near_->barrier() : nullptr;
      BenchRankReport report = run_bench_rank(world, *cases_[i].setup, near);
      report.case_index = static_cast<int>(i);
      world.progress(to_json(report));
    }
    return {};
  }

  void take_line(int rank, const std::string& line) {
    const std::scoped_lock lock(mutex_);  // own lines and those of peers come from two threads
    if (is_rank_report(line)) {
      lines_[parse_bench_report(line).case_index][rank] = line;
    } else if (progress_) {
      progress_(line);
    }
  }

  void skip_from(std::size_t first, int code) {
    for (std::size_t i = first; i < cases_.size(); ++i) {
      cases_[i].result->exit_code = code;
      cases_[i].result->messages = {"not run: the world has ended"};
    }
  }

  WorldOptions world_;
  std::span<PreparedBench> cases_;
  const CaseProgress& progress_;
  std::unique_ptr<SharedBarrier> near_;
  std::mutex mutex_;
  std::vector<std::vector<std::string>> lines_;  // [case][rank]: its report
};

// Plans it; false: refused.
bool prepare(const WorldOptions& world, const CaseOptions& asked, const BenchOptions& options,
             PreparedBench& prepared) {
  BenchResult& result = *prepared.result;
  result.problem = asked.problem;
  result.options = options;
  result.transport = world.transport;
  result.reproduce = bench_command(world, asked, options);
  try {
    prepared.setup = make_bench_setup(world, asked, options);
    return true;
  } catch (const Error& error) {
    const bool refused = error.kind() == ErrorKind::refused;
    result.verdict = refused ? Verdict::refused : Verdict::failed;
    result.exit_code = exit_code(error.kind());
    result.messages = {error.what()};
  }
  return false;
}

}  // namespace

std::vector<BenchResult> bench_cases(const WorldOptions& world,
                                     const std::vector<CaseOptions>& cases,
                                     const BenchOptions& options, const CaseProgress& progress) {
  std::vector<BenchResult> results(cases.size());
  std::vector<PreparedBench> waiting;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    PreparedBench prepared{.result = &results[i]};
    if (prepare(world, cases[i], options, prepared)) waiting.push_back(std::move(prepared));
  }
  // Ranks that are started here get a new world for each case, and each case a sound one; those
  // that were started one by one meet once.
  const std::size_t step = world.membership ? std::max<std::size_t>(waiting.size(), 1) : 1;
  for (std::size_t i = 0; i < waiting.size(); i += step) {
    if (BenchGroup(world, std::span(waiting).subspan(i, step), progress).run()) continue;
    for (std::size_t rest = i + step; rest < waiting.size(); ++rest) {
      waiting[rest].result->exit_code = waiting[i].result->exit_code;
      waiting[rest].result->messages = {"not run: interrupted"};
    }
    break;
  }
  return results;
}

std::vector<CaseOptions> sweep_rounds(const CaseOptions& base) {
  const Problem& problem = base.problem;
  const bool shares_rows = problem.op == OperatorKind::matmul_reduce_scatter;
  const std::int64_t rows = shares_rows ? problem.m / std::max(problem.ranks, 1) : problem.m;
  std::vector<CaseOptions> cases;
  for (std::int64_t rounds = 1; rounds == 1 || rounds <= rows / 16; rounds *= 2) {
    CaseOptions& made = cases.emplace_back(base);
    made.problem.tiles = rounds;
    made.problem.tile_rows.reset();
  }
  return cases;
}

}  // namespace tandem
