// SPDX-License-Identifier: Apache-2.0
// More ranks than processors: those that wait must not be in the way of those that work.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "host/launch_site.h"
#include "host/test_world.h"

namespace tandem::host {
namespace {

using Microseconds = std::chrono::duration<double, std::micro>;

constexpr int kProcessors = 2;
constexpr int kRanks = 8;

double cpu_seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Work that takes the same count of steps whoever interrupts it: a loop until a moment would pass
// time on which another process had the processor.
[[gnu::noinline]] void work(std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) asm volatile("" : : "r"(i) : "memory");
}

std::int64_t steps_in(double microseconds) {
  constexpr std::int64_t kSteps = 1'000'000;
  double fastest = 1e9;
  for (int turn = 0; turn < 20; ++turn) {
    const auto start = Clock::now();
    work(kSteps);
    fastest = std::min(fastest, Microseconds(Clock::now() - start).count());
  }
  return static_cast<std::int64_t>(kSteps * microseconds / fastest);
}

// This thread, and processes that it forks, on some of its processors while it lives: `count` of
// them from the one with this place on.
class OnProcessors {
 public:
  OnProcessors(int first, int count) {
    sched_getaffinity(0, sizeof all_, &all_);
    cpu_set_t some;
    CPU_ZERO(&some);
    int place = 0;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (!CPU_ISSET(i, &all_)) continue;
      if (place >= first && place < first + count) CPU_SET(i, &some);
      ++place;
    }
    found_ = CPU_COUNT(&some) == count;
    sched_setaffinity(0, sizeof some, &some);
  }
  ~OnProcessors() { sched_setaffinity(0, sizeof all_, &all_); }
  OnProcessors(const OnProcessors&) = delete;
  OnProcessors& operator=(const OnProcessors&) = delete;
  bool found() const { return found_; }

 private:
  cpu_set_t all_{};
  bool found_ = false;
};

struct Workload {
  std::int64_t product = 0;  // steps of a tile
  int tiles = 0;             // multiple of 4
};

void run_launch(HostRank& rank, Launch launch) {
  WorkerPool pool(rank.options().workers);
  LaunchSite site(rank, pool, std::move(launch), {});
  site.run({});
}

// A fused operator as to who waits for whom: the cube core forms tiles, at most two ahead; the
// vector core reduces each in a quarter of the time and meets all ranks after every fourth.
Launch fused_launch(HostRank& rank, const Workload& load) {
  Launch launch;
  launch.blocks = 1;
  launch.epochs = load.tiles;
  launch.cube = [load](CubeCore& core) {
    for (int tile = 0; tile < load.tiles; ++tile) {
      if (tile >= 2) core.wait_flag(FlagId{2});
      work(load.product);
      core.set_flag(Pipe::fix, FlagId{1});
    }
  };
  launch.vector = [load, &rank](VectorCore& core) {
    for (int tile = 0; tile < load.tiles; ++tile) {
      core.wait_flag(FlagId{1});
      work(load.product / 4);
      if (tile + 2 < load.tiles) core.set_flag(Pipe::mte3, FlagId{2});
      if (tile % 4 != 3) continue;
      const std::uint64_t turn = tile / 4 + 1;
      for (int peer = 0; peer < rank.ranks(); ++peer) {
        if (peer == rank.rank()) continue;
        core.store_epoch(peer, {EpochSlot::Kind::arrived, rank.rank()}, turn);
      }
      for (int peer = 0; peer < rank.ranks(); ++peer) {
        if (peer == rank.rank()) continue;
        core.wait_epoch({EpochSlot::Kind::arrived, peer}, turn);
      }
    }
  };
  return launch;
}

// Seconds from the first rank's start to the last one's end, as rank 0 sees them.
double seconds_of(HostRank& rank, const std::function<void()>& part) {
  rank.meet("the start of a turn");
  const auto start = Clock::now();
  part();
  rank.meet("the end of a turn");
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// 8 ranks on 2 processors take at most `limit` times as long as 2 that do the same work without
// ever waiting. Others use this machine too: the best of several attempts counts, by turns.
void expect_overhead(double product_us, int tiles, double limit) {
  const OnProcessors placed(0, kProcessors);
  if (!placed.found()) GTEST_SKIP() << "it takes two processors";
  const Workload load{steps_in(product_us), tiles};
  const std::int64_t share = load.tiles * (load.product + load.product / 4) * kRanks / kProcessors;
  constexpr int kAttempts = 12;
  const auto main = [&](HostRank& rank, Findings& findings) {
    double ideal = 1e9;
    double fused = 1e9;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      ideal = std::min(ideal, seconds_of(rank, [&] {
                         if (rank.rank() >= kProcessors) return;
                         const OnProcessors alone(rank.rank(), 1);
                         work(share);
                       }));
      fused =
          std::min(fused, seconds_of(rank, [&] { run_launch(rank, fused_launch(rank, load)); }));
    }
    if (rank.rank() != 0) return;
    std::printf("%d ranks on %d processors, tiles of %.0f us: %.2f of the ideal %.1f ms\n", kRanks,
                kProcessors, product_us, fused / ideal, 1e3 * ideal);
    std::fflush(stdout);
    findings.expect(fused <= limit * ideal, fused / ideal, " times the ideal of ", ideal, " s");
  };
  const HostOptions options{.workers = 1, .oversubscribed = true, .timeout_ms = 20000};
  EXPECT_EQ(failures_of(run_test_world("shm", kRanks, options, main)), "");
}

TEST(Oversubscription, TilesOf20MicrosecondsTakeAtMost2_5TimesTheIdeal) {
  expect_overhead(20, 400, 2.5);
}

TEST(Oversubscription, TilesOf200MicrosecondsTakeAtMost1_5TimesTheIdeal) {
  expect_overhead(200, 60, 1.5);
}

class Waiting : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, Waiting, testing::ValuesIn(built_transports()),
                         [](const auto& instance) { return instance.param; });

// While one rank works the others wait for its word: all processes together, with their
// communication threads, take the processor time of that rank's work and little more.
TEST_P(Waiting, TakesNoProcessorTime) {
  constexpr int kWaiting = 5;
  const std::int64_t steps = steps_in(400'000);
  for (const bool oversubscribed : {false, true}) {
    const auto main = [&](HostRank& rank, Findings& findings) {
      const Windows windows = rank.allocate_windows(kWaiting * 8 + 8);
      Launch launch;
      launch.blocks = 1;
      launch.epochs = 10;
      double useful = 0;
      launch.cube = [](CubeCore& core) { core.wait_flag(FlagId{1}); };
      launch.vector = [&](VectorCore& core) {
        if (rank.rank() != 0) {
          core.wait_epoch({EpochSlot::Kind::arrived, 0}, 1);
        } else {
          const double start = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
          work(steps);
          useful = cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - start;
          for (int peer = 1; peer < rank.ranks(); ++peer) {
            core.store_epoch(peer, {EpochSlot::Kind::arrived, 0}, 1);
          }
        }
        core.set_flag(Pipe::mte3, FlagId{1});
      };
      rank.meet("the start");
      const double before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
      run_launch(rank, std::move(launch));
      double taken = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
      rank.write_window(windows, 0, rank.rank() * 8, &taken, 8);
      rank.meet("the end");
      if (rank.rank() == 0) {
        std::array<double, kWaiting + 1> all{};
        rank.read_window(windows, 0, 0, all.data(), sizeof all);
        double sum = 0;
        for (const double seconds : all) sum += seconds;
        if (GetParam() == "threads") sum = *std::ranges::max_element(all);  // one process for all
        findings.expect(sum < 1.1 * useful + 0.05, sum, " s of processor time for ", useful,
                        " s of work");
      }
      rank.free_windows(windows);
    };
    const HostOptions options{.workers = 1, .oversubscribed = oversubscribed, .timeout_ms = 20000};
    EXPECT_EQ(failures_of(run_test_world(GetParam(), kWaiting + 1, options, main)), "");
  }
}

}  // namespace
}  // namespace tandem::host
