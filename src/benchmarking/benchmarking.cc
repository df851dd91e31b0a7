// SPDX-License-Identifier: Apache-2.0
#include "tandem/benchmarking.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <new>

#include "base/strings.h"
#include "benchmarking/rank_run.h"
#include "benchmarking/statistics.h"
#include "cases/results.h"
#include "simulating/ideal.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// A board that forked ranks write and their launcher reads.
class SharedBoard {
 public:
  explicit SharedBoard(const BenchSetup& setup)
      : bytes_(static_cast<std::size_t>(BenchBoard::bytes(setup))) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw Error(ErrorKind::environment,
                  cat("bench: no ", bytes_, " bytes of shared memory; free some"));
    }
    board_ = new (memory) BenchBoard;
  }
  ~SharedBoard() { munmap(board_, bytes_); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;

  BenchBoard& board() const { return *board_; }

 private:
  std::size_t bytes_;
  BenchBoard* board_ = nullptr;
};

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
  return command;
}

// Of each launch the slowest rank.
std::vector<double> launch_seconds(const BenchSetup& setup, BenchBoard& board, std::size_t arm) {
  std::vector<double> seconds;
  for (int launch = 0; launch < board.launches; ++launch) {
    const double* ranks = board.seconds(setup, arm, launch, 0);
    seconds.push_back(*std::max_element(ranks, ranks + setup.problem.ranks));
  }
  return seconds;
}

double median_seconds(const BenchResult& result, BenchArm arm) {
  for (const BenchArmResult& found : result.arms) {
    if (found.arm == arm) return found.seconds.median;
  }
  return 0;
}

void fill_arms(const BenchSetup& setup, BenchBoard& board,
               const std::vector<BenchRankReport>& reports, BenchResult& result) {
  std::vector<double> fused;
  for (std::size_t i = 0; i < setup.arms.size(); ++i) {
    const BenchArm arm = setup.arms[i];
    if (arm == BenchArm::baseline && reports[0].sgemm.empty()) {
      result.notes.push_back("no baseline: no BLAS is installed");
      continue;
    }
    const std::vector<double> seconds = launch_seconds(setup, board, i);
    if (arm == BenchArm::fused) fused = seconds;
    BenchArmResult& filled = result.arms.emplace_back();
    filled.arm = arm;
    filled.seconds = spread_of(seconds);
    filled.launches = board.launches;
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
  result.masking = masking_degree(products, transfers, fused);
  result.ideal_masking =
      masking_degree(products, transfers, ideal_of(setup.plan, products, transfers).time);
}

// Limits of all ranks together: of as many processors as they can use at once.
void fill_limits(const WorldOptions& world, const std::vector<BenchRankReport>& reports,
                 BenchResult& result) {
  const auto ranks = static_cast<double>(reports.size());
  const int processors = default_workers(1);
  const int workers = world.workers.value_or(default_workers(result.problem.ranks));
  const double threads = std::min<double>(processors, ranks * workers);
  for (const BenchRankReport& report : reports) {
    result.fma_peak += report.fma_peak * threads / ranks;
    result.read_bandwidth += report.read_bandwidth * std::min<double>(processors, ranks) / ranks;
  }
}

// What the work needs, whatever the form in which it is done.
void fill_work(const Plan& plan, BenchResult& result) {
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const Shapes held = shapes_of(plan.problem, rank);
    const bool gathers = plan.problem.op == OperatorKind::all_gather_matmul;
    const auto rows = static_cast<double>(gathers ? plan.ranks * plan.problem.m : plan.problem.m);
    const auto columns = static_cast<double>(held.b_columns);
    const auto k = static_cast<double>(held.b_k);
    result.flops += 2 * rows * columns * k;
    const auto mx_bytes = [](std::int64_t lines, std::int64_t length) {
      return static_cast<double>(lines) * static_cast<double>(length + scale_bytes(length));
    };
    result.bytes += mx_bytes(held.a_rows, held.a_k) + mx_bytes(held.b_columns, held.b_k);
    result.bytes +=
        static_cast<double>(held.c_rows * held.c_columns * element_bytes(plan.problem.dtype_c));
  }
}

void fill_result(const WorldOptions& world, const BenchSetup& setup, BenchBoard& board,
                 const std::vector<BenchRankReport>& reports, BenchResult& result) {
  fill_limits(world, reports, result);
  const BenchRankReport& first = reports[0];
  result.rounds = first.rounds;
  result.blocks = first.blocks;
  result.sgemm = first.sgemm;
  result.flush_bytes = first.flush_bytes;
  for (const BenchRankReport& report : reports) {
    result.checked_elements += report.checked_elements;
    result.baseline_bound = std::max(result.baseline_bound, report.baseline_bound);
    if (!report.failure.empty()) result.messages.push_back(report.failure);
  }
  result.verdict = result.messages.empty() ? Verdict::pass : Verdict::fail;
  result.exit_code = result.messages.empty() ? 0 : 1;
  if (!result.messages.empty()) return;
  fill_work(setup.plan, result);
  fill_arms(setup, board, reports, result);
  fill_masking(setup, result);
  if (setup.options.pin == Pinning::on && !first.pinned) {
    result.notes.push_back("ranks are not pinned: more ranks than processors");
  }
}

void run_case_into(const WorldOptions& options, const BenchSetup& setup, BenchResult& result) {
  WorldOptions world_options = options;
  world_options.ranks = setup.problem.ranks;
  const SharedBoard shared(setup);
  const std::vector<RankOutcome> outcomes = World::spawn(
      world_options, [&](World& world) { return run_bench_rank(world, setup, shared.board()); });
  std::vector<BenchRankReport> reports;
  for (const RankOutcome& outcome : outcomes) {
    if (outcome.exit_code == 0) reports.push_back(parse_bench_report(outcome.result));
  }
  if (reports.size() == outcomes.size()) {
    return fill_result(world_options, setup, shared.board(), reports, result);
  }
  CaseResult failure;
  note_world_failure(outcomes, failure);
  result.verdict = failure.verdict;
  result.exit_code = failure.exit_code;
  result.messages = failure.messages;
}

}  // namespace

std::vector<BenchResult> bench_cases(const WorldOptions& world,
                                     const std::vector<CaseOptions>& cases,
                                     const BenchOptions& options, const CaseProgress& progress) {
  std::vector<BenchResult> results;
  for (const CaseOptions& asked : cases) {
    BenchResult& result = results.emplace_back();
    result.problem = asked.problem;
    result.options = options;
    result.reproduce = bench_command(world, asked, options);
    if (progress) progress(result.reproduce);
    try {
      const auto setup = make_bench_setup(world, asked, options);
      run_case_into(world, *setup, result);
    } catch (const Error& error) {
      const bool refused = error.kind() == ErrorKind::refused;
      result.verdict = refused ? Verdict::refused : Verdict::failed;
      result.exit_code = exit_code(error.kind());
      result.messages = {error.what()};
    }
    if (result.exit_code > 128 && result.exit_code != 134) break;  // interrupted
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
