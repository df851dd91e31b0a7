// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/rank_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/strings.h"
#include "benchmarking/arms.h"
#include "benchmarking/limits.h"
#include "benchmarking/pace.h"
#include "cases/verify.h"
#include "host/link/link.h"
#include "link_figures.h"
#include "mx/output.h"
#include "problem_fields.h"
#include "tandem/error.h"
#include "tandem/version.h"

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

// What a rank has for itself of its host's processors.
struct ProcessorShare {
  double computing = 1;  // by all of its workers
  double reading = 1;    // by one thread
};

// Before it is pinned: then it sees no more than its share.
ProcessorShare share_of(World& world) {
  host::Link* link = world.impl().rank->link();
  const int ranks_here = link != nullptr ? link->ranks_here() : world.size();
  const auto share = [&](int threads) {
    return std::min<double>(default_workers(1), threads * ranks_here) / ranks_here;
  };
  return {.computing = share(world.workers()), .reading = share(1)};
}

class BenchRank {
 public:
  BenchRank(World& world, const BenchSetup& setup, SpinBarrier* near, ProcessorShare share)
      : world_(world), setup_(setup), near_(near), share_(share), arms_(world, setup, near) {
    report_.rounds = setup.plan.rounds();
    report_.blocks = setup.plan.blocks;
    report_.flush_bytes = flush_.bytes();
    report_.flushes.assign(setup.arms.size(), 0);
    report_.seconds.resize(setup.arms.size());
    report_.sgemm = arms_.sgemm();
  }

  BenchRankReport run() {
    check();
    measure_limits();
    if (any(!report_.failure.empty())) return report_;
    if (setup_.sleeps()) report_.sleep_gflops = set_pace(world_, setup_, arms_);
    const auto start = Clock::now();
    bool stop = false;
    for (int turn = 0; !stop; ++turn) {
      // A, B, …, then …, B, A: a drift of the machine meets every arm on both sides.
      for (std::size_t i = 0; i < setup_.arms.size(); ++i) {
        time_arm(turn % 2 == 0 ? i : setup_.arms.size() - 1 - i);
      }
      stop = any(world_.rank() == 0 && is_enough(turn + 1, seconds_since(start)));
    }
    return report_;
  }

 private:
  bool runs(BenchArm arm) const { return arm != BenchArm::baseline || arms_.has_baseline(); }

  void meet() {
    if (near_ != nullptr) {
      near_->meet(world_);
    } else {
      world_.barrier();
    }
  }

  // Collective: whether some rank says so.
  bool any(bool own) {
    const auto said = world_.impl().rank->exchange("a decision of all ranks", own ? "yes" : "");
    return std::ranges::any_of(said, [](const std::string& text) { return !text.empty(); });
  }

  LaunchResult launch(BenchArm arm) {
    meet();
    arms_.poison();
    meet();
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

  void measure_limits() {
    meet();
    report_.fma_peak = measure_fma_peak() * share_.computing;
    report_.product_peak = measure_product_peak() * share_.computing;
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) {
      meet();
      seconds.push_back(flush_.run());
    }
    report_.read_bandwidth =
        static_cast<double>(flush_.bytes()) / *std::ranges::min_element(seconds) * share_.reading;
  }

  void time_arm(std::size_t index) {
    const BenchArm arm = setup_.arms[index];
    if (!runs(arm)) return;
    const int flushes = flush_.runs();
    if (setup_.options.caches == BenchCaches::cold) {
      flush_.run();
    } else {
      meet();
      arms_.run(arm);
    }
    report_.flushes[index] += flush_.runs() - flushes;
    meet();
    const auto start = Clock::now();
    arms_.run(arm);
    report_.seconds[index].push_back(seconds_since(start));
    // The next arm's flush must not disturb a slower rank.
    meet();
  }

  bool is_enough(int launches, double seconds) const {
    constexpr int kLaunchesMin = 8;
    if (launches == kBenchLaunchesMax) return true;
    const int wanted = setup_.options.launches;
    return wanted > 0 ? launches >= wanted
                      : launches >= kLaunchesMin && seconds > setup_.options.seconds;
  }

  World& world_;
  const BenchSetup& setup_;
  SpinBarrier* near_;
  ProcessorShare share_;
  CacheFlush flush_;
  BenchRankReport report_;
  BenchArms arms_;
};

// Throws Error{refused}, the same on all ranks.
void agree(World& world, const BenchSetup& setup) {
  const BenchOptions& options = setup.options;
  auto fields = problem_fields(setup.problem);
  std::string arms;
  for (const BenchArm arm : setup.arms) {
    arms += cat(arms.empty() ? "" : ",", to_string(arm));
  }
  fields.emplace_back("arms", arms);
  fields.emplace_back("caches", to_string(options.caches));
  fields.emplace_back("compute", to_string(options.compute));
  fields.emplace_back("sleep-gflops", options.sleep_gflops ? cat(*options.sleep_gflops) : "chosen");
  fields.emplace_back("launches", cat(options.launches));
  fields.emplace_back("seconds", cat(options.seconds));
  fields.emplace_back("input", to_string(options.inputs.kind));
  fields.emplace_back("seed", cat(options.inputs.seed));
  fields.emplace_back("scale-mode", to_string(options.inputs.scale_mode));
  fields.emplace_back("version", kVersion);
  world.agree(cat("bench of ", to_string(setup.problem.op)), fields);
}

}  // namespace

BenchRankReport run_bench_rank(World& world, BenchSetup& setup, SpinBarrier* near) {
  if (setup.baseline_is_asked && sgemm_libraries(world.workers()).empty()) {
    throw Error(ErrorKind::environment, cat("bench: the baseline arm finds no BLAS; install ",
                                            sgemm_packages(), ", or leave the arm out"));
  }
  try {
    agree(world, setup);
    plan_for(setup, device_of(world, setup.problem));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    BenchRankReport refused;
    refused.refusal = error.what();
    return refused;
  }
  const ProcessorShare share = share_of(world);
  // Over links a rank has a thread for them too; where it runs is left to the scheduler.
  const bool pinned =
      near != nullptr && setup.options.pin == Pinning::on && pin_rank(world.rank(), world.size());
  world.impl().rank->set_ns_per_product(0);
  BenchRankReport report = BenchRank(world, setup, near, share).run();
  report.pinned = pinned;
  return report;
}

}  // namespace tandem
