// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/rank_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "benchmarking/arms.h"
#include "benchmarking/limits.h"
#include "cases/verify.h"
#include "mx/output.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One step of the reference's rows: the fused bits, and the baseline's error against FP64.
Verification verify_rows(World& world, const BenchSetup& setup, const LaunchResult& result) {
  VerifyOptions options;
  options.step_work_max = std::int64_t{1} << 27;
  Verifier verifier(setup.plan, *setup.source, world.rank(), options);
  if (verifier.steps() > 0) verifier.run_step(0, {&result, 1});
  return verifier.verification();
}

// Outside the verified rows, where nobody knows the exact product: how many elements are further
// from each other than four BF16 roundings of themselves and of a typical partial sum. The limit
// is chosen, not derived; it finds misplaced rows, not wrong roundings.
std::int64_t count_far_apart(const BenchSetup& setup, const std::vector<std::uint8_t>& fused,
                             const std::vector<std::uint8_t>& baseline) {
  const OutputType type = setup.problem.dtype_c;
  const std::int64_t element = element_bytes(type);
  const auto count = static_cast<std::int64_t>(fused.size()) / element;
  const auto value = [&](const std::vector<std::uint8_t>& c, std::int64_t i) {
    return static_cast<double>(widen(type, c.data() + i * element));
  };
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) squares += value(fused, i) * value(fused, i);
  const double typical = std::sqrt(squares * setup.problem.ranks / std::max<double>(1, count));
  std::int64_t apart = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double want = value(fused, i);
    const double limit = 4 * 0x1p-8 * (std::abs(want) + typical);
    if (!(std::abs(value(baseline, i) - want) <= limit)) ++apart;
  }
  return apart;
}

class BenchRank {
 public:
  BenchRank(World& world, const BenchSetup& setup, BenchBoard& board)
      : world_(world), setup_(setup), board_(board), arms_(world, setup, board.barrier) {
    report_.rounds = setup.plan.rounds();
    report_.blocks = setup.plan.blocks;
    report_.flush_bytes = flush_.bytes();
    report_.flushes.assign(setup.arms.size(), 0);
    report_.sgemm = arms_.sgemm();
  }

  BenchRankReport run() {
    check();
    measure_limits();
    if (any_failure()) return report_;
    const auto start = Clock::now();
    for (int turn = 0; !board_.stop; ++turn) {
      // A, B, …, then …, B, A: a drift of the machine meets every arm on both sides.
      for (std::size_t i = 0; i < setup_.arms.size(); ++i) {
        time_arm(turn % 2 == 0 ? i : setup_.arms.size() - 1 - i, turn);
      }
      if (world_.rank() == 0) decide(turn + 1, seconds_since(start));
      board_.barrier.meet(world_);
    }
    return report_;
  }

 private:
  bool runs(BenchArm arm) const { return arm != BenchArm::baseline || arms_.has_baseline(); }

  LaunchResult launch(BenchArm arm) {
    board_.barrier.meet(world_);
    arms_.poison();
    board_.barrier.meet(world_);
    arms_.run(arm);
    return {0, arms_.c()};
  }

  void check() {
    const LaunchResult fused = launch(BenchArm::fused);
    const Verification found = verify_rows(world_, setup_, fused);
    report_.checked_elements = found.elements;
    if (found.differing > 0) {
      add_failure(cat("fused: ", found.differing, " of ", found.elements,
                      " elements differ from the reference's bits"));
    }
    if (setup_.has(BenchArm::serial) && launch(BenchArm::serial).c != fused.c) {
      add_failure("serial: its bits are not the fused ones");
    }
    if (!arms_.has_baseline()) return;
    // Twice: it publishes into one half of its windows and then into the other.
    for (int half = 0; half < 2; ++half) check_baseline(fused);
  }

  void check_baseline(const LaunchResult& fused) {
    const LaunchResult baseline = launch(BenchArm::baseline);
    const double bound = verify_rows(world_, setup_, baseline).bound_ratio;
    report_.baseline_bound = std::max(report_.baseline_bound, bound);
    if (bound > 1) add_failure(cat("baseline: its error is ", bound, " times the bound"));
    const std::int64_t apart = count_far_apart(setup_, fused.c, baseline.c);
    if (apart > 0) add_failure(cat("baseline: ", apart, " elements are far from the fused ones"));
  }

  void add_failure(const std::string& text) {
    report_.failure += cat(report_.failure.empty() ? "" : "; ", "rank ", world_.rank(), " ", text);
  }

  // Collective: whether an arm of some rank is wrong. Nobody times wrong answers.
  bool any_failure() {
    if (!report_.failure.empty()) board_.stop = true;
    board_.barrier.meet(world_);
    return board_.stop;
  }

  void measure_limits() {
    board_.barrier.meet(world_);
    report_.fma_peak = measure_fma_peak();
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) {
      board_.barrier.meet(world_);
      seconds.push_back(flush_.run());
    }
    report_.read_bandwidth =
        static_cast<double>(flush_.bytes()) / *std::ranges::min_element(seconds);
  }

  void time_arm(std::size_t index, int turn) {
    const BenchArm arm = setup_.arms[index];
    if (!runs(arm)) return;
    const int flushes = flush_.runs();
    if (setup_.options.caches == BenchCaches::cold) {
      flush_.run();
    } else {
      board_.barrier.meet(world_);
      arms_.run(arm);
    }
    report_.flushes[index] += flush_.runs() - flushes;
    board_.barrier.meet(world_);
    const auto start = Clock::now();
    arms_.run(arm);
    *board_.seconds(setup_, index, turn, world_.rank()) = seconds_since(start);
    // The next arm's flush must not disturb a slower rank.
    board_.barrier.meet(world_);
  }

  void decide(int launches, double seconds) {
    constexpr int kLaunchesMin = 8;
    board_.launches = launches;
    const int wanted = setup_.options.launches;
    const bool enough = wanted > 0 ? launches >= wanted
                                   : launches >= kLaunchesMin && seconds > setup_.options.seconds;
    if (enough || launches == kBenchLaunchesMax) board_.stop = true;
  }

  World& world_;
  const BenchSetup& setup_;
  BenchBoard& board_;
  CacheFlush flush_;
  BenchRankReport report_;
  BenchArms arms_;
};

}  // namespace

std::string to_json(const BenchRankReport& report) {
  return nlohmann::json{{"sgemm", report.sgemm},
                        {"failure", report.failure},
                        {"pinned", report.pinned},
                        {"rounds", report.rounds},
                        {"blocks", report.blocks},
                        {"fma_peak", report.fma_peak},
                        {"read_bandwidth", report.read_bandwidth},
                        {"flush_bytes", report.flush_bytes},
                        {"flushes", report.flushes},
                        {"checked_elements", report.checked_elements},
                        {"baseline_bound", report.baseline_bound}}
      .dump();
}

BenchRankReport parse_bench_report(const std::string& json) {
  const auto from = nlohmann::json::parse(json);
  return {.sgemm = from.at("sgemm"),
          .failure = from.at("failure"),
          .pinned = from.at("pinned"),
          .rounds = from.at("rounds"),
          .blocks = from.at("blocks"),
          .fma_peak = from.at("fma_peak"),
          .read_bandwidth = from.at("read_bandwidth"),
          .flush_bytes = from.at("flush_bytes"),
          .flushes = from.at("flushes"),
          .checked_elements = from.at("checked_elements"),
          .baseline_bound = from.at("baseline_bound")};
}

std::string run_bench_rank(World& world, const BenchSetup& setup, BenchBoard& board) {
  if (setup.baseline_is_asked && sgemm_libraries(world.workers()).empty()) {
    throw Error(ErrorKind::environment, cat("bench: the baseline arm finds no BLAS; install ",
                                            sgemm_packages(), ", or leave the arm out"));
  }
  const bool pinned = setup.options.pin == Pinning::on && pin_rank(world.rank(), world.size());
  BenchRankReport report = BenchRank(world, setup, board).run();
  report.pinned = pinned;
  return to_json(report);
}

}  // namespace tandem
