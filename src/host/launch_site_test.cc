// SPDX-License-Identifier: Apache-2.0
// Small kernels on the host machine: flags, meetings of cores, barrier words, transfers.
#include "host/launch_site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>

#include "host/test_world.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

using std::chrono::milliseconds;
using CubeKernel = std::function<void(CubeCore&)>;
using VectorKernel = std::function<void(VectorCore&)>;

void idle_cube(CubeCore&) {}
void idle_vector(VectorCore&) {}

class Launches : public testing::TestWithParam<std::string> {
 protected:
  void expect_sound(int ranks, const HostOptions& options, const TestMain& main) {
    EXPECT_EQ(failures_of(run_test_world(GetParam(), ranks, options, main)), "");
  }
};

INSTANTIATE_TEST_SUITE_P(All, Launches, testing::ValuesIn(built_transports()),
                         [](const auto& instance) { return instance.param; });

Launch launch_of(int blocks, CubeKernel cube, VectorKernel vector) {
  Launch launch;
  launch.blocks = blocks;
  launch.epochs = 100;
  launch.cube = std::move(cube);
  launch.vector = std::move(vector);
  return launch;
}

void run_launch(HostRank& rank, Launch launch) {
  WorkerPool pool(rank.options().workers);
  LaunchSite site(rank, pool, std::move(launch), {});
  site.run({});
}

// The last core may come between the time-out of another one and its report.
TEST(SyncPoints, SayWhoIsMissingAndOnlyIfOneIs) {
  SyncPoint point(3);
  const auto shown = [&point](std::initializer_list<int> meetings) {
    std::ranges::copy(meetings, point.reached.begin());
    return point.describe("vector", 2);
  };
  EXPECT_EQ(shown({2, 1, 0}), "1 of 3 cores are there, vector 1, vector 2 are missing");
  EXPECT_EQ(shown({2, 1, 3}), "2 of 3 cores are there, vector 1 is missing");
  EXPECT_EQ(shown({2, 2, 2}), "3 of 3 cores are there");
}

constexpr int kTurns = 1000;

// The two cores of a block take turns: neither is ever more than one step ahead.
TEST_P(Launches, FlagsGoBackAndForthBetweenTheCoresOfABlock) {
  expect_sound(2, {.workers = 2}, [](HostRank& rank, Findings& findings) {
    std::array<int, 5> cube_turns{};
    std::array<int, 5> vector_turns{};
    std::atomic<int> wrong = 0;
    run_launch(rank, launch_of(
                         5,
                         [&](CubeCore& core) {
                           for (int turn = 0; turn < kTurns; ++turn) {
                             ++cube_turns[core.block()];
                             core.set_flag(Pipe::fix, FlagId{3});
                             core.wait_flag(FlagId{4});
                             wrong += vector_turns[core.block()] != turn + 1;
                           }
                         },
                         [&](VectorCore& core) {
                           for (int turn = 0; turn < kTurns; ++turn) {
                             core.wait_flag(FlagId{3});
                             wrong += cube_turns[core.block()] != turn + 1;
                             ++vector_turns[core.block()];
                             core.set_flag(Pipe::mte3, FlagId{4});
                           }
                         }));
    findings.expect_equal(wrong.load(), 0, "turns out of order");
    for (int turns : vector_turns) findings.expect_equal(turns, kTurns, "turns of a block");
  });
}

TEST_P(Launches, FlagsCountUpToFourteenSetsAhead) {
  expect_sound(1, {.workers = 1}, [](HostRank& rank, Findings& findings) {
    int taken = 0;
    run_launch(rank, launch_of(
                         1,
                         [&](CubeCore& core) {
                           for (int i = 0; i < 14; ++i) core.gate(Pipe::mte2, FlagId{i % 2});
                           taken = 14;
                         },
                         [&](VectorCore& core) {
                           for (int i = 0; i < 14; ++i) core.set_flag(Pipe::mte3, FlagId{i % 2});
                         }));
    findings.expect_equal(taken, 14, "flags taken");
  });
}

// After the n-th meeting every core of the kind has come n times.
TEST_P(Launches, AllCoresOfAKindMeet) {
  constexpr int kMeetings = 200;
  for (int workers : {1, 2, 3}) {
    for (int blocks : {1, 2, 7, 16}) {
      expect_sound(2, {.workers = workers}, [&](HostRank& rank, Findings& findings) {
        std::atomic<int> cubes = 0;
        std::atomic<int> vectors = 0;
        std::atomic<int> wrong = 0;
        const auto meet_often = [&](Core& core, std::atomic<int>& count) {
          for (int meeting = 1; meeting <= kMeetings; ++meeting) {
            ++count;
            core.sync_all();
            wrong += count.load() < meeting * blocks;
            core.sync_all();
            wrong += count.load() > (meeting + 1) * blocks;
          }
        };
        run_launch(rank, launch_of(
                             blocks, [&](CubeCore& core) { meet_often(core, cubes); },
                             [&](VectorCore& core) { meet_often(core, vectors); }));
        findings.expect_equal(wrong.load(), 0, "meetings that did not hold");
        findings.expect_equal(cubes.load(), kMeetings * blocks, "arrivals of cube cores");
        findings.expect_equal(vectors.load(), kMeetings * blocks, "arrivals of vector cores");
      });
    }
  }
}

// All ranks store and wait for epoch 1, 2, 3 of each launch, and read what was written before.
void barrier_launches(HostRank& rank, Findings& findings, int launches) {
  const int ranks = rank.ranks();
  const Windows windows = rank.allocate_windows(ranks * 8);
  WorkerPool pool(rank.options().workers);
  std::uint64_t turn = 0;
  std::int64_t wrong = 0;
  const std::byte* own_window = windows.addresses[rank.rank()];
  std::uint64_t word = 0;
  const View own{rank.rank(), Buffer::c, 0, 1, 8, 8};
  Launch launch = launch_of(1, idle_cube, [&](VectorCore& core) {
    for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
      const bool writes = epoch % 2 == 1;
      if (writes) ++turn;
      word = turn;
      for (int peer = 0; peer < ranks; ++peer) {
        if (peer == rank.rank()) continue;
        if (writes) {
          core.channel(peer).write_nbi({peer, Buffer::window_data, rank.rank() * 8, 1, 8, 8}, own);
        } else {
          wrong += std::memcmp(own_window + peer * 8, &turn, 8) != 0;
        }
      }
      for (int peer = 0; peer < ranks; ++peer) {
        if (peer != rank.rank()) core.channel(peer).drain();
      }
      for (int peer = 0; peer < ranks; ++peer) {
        if (peer == rank.rank()) continue;
        core.store_epoch(peer, {EpochSlot::Kind::arrived, rank.rank()}, epoch);
      }
      for (int peer = 0; peer < ranks; ++peer) {
        if (peer != rank.rank()) core.wait_epoch({EpochSlot::Kind::arrived, peer}, epoch);
      }
    }
  });
  launch.epochs = 3;
  launch.extents[static_cast<std::size_t>(Buffer::c)].bytes = 8;
  launch.extents[static_cast<std::size_t>(Buffer::window_data)].bytes = ranks * 8;
  LaunchSite site(rank, pool, std::move(launch), windows);
  Bindings bindings;
  bindings.local[static_cast<std::size_t>(Buffer::c)] = reinterpret_cast<std::byte*>(&word);
  for (int i = 0; i < launches; ++i) site.run(bindings);
  findings.expect_equal(wrong, 0, "words that came late");
  rank.meet("the end");
  rank.free_windows(windows);
}

TEST_P(Launches, EpochsOrderWhatRanksWrite) {
  expect_sound(4, {.workers = 1},
               [](HostRank& rank, Findings& findings) { barrier_launches(rank, findings, 200); });
}

TEST_P(Launches, EpochsCrossTheEndsOfTheirRanges) {
  for (int bits : {31, 32, 63, 64}) {
    SCOPED_TRACE(bits);
    const std::uint64_t end = bits == 64 ? 0 : std::uint64_t{1} << bits;
    expect_sound(3, {.workers = 1, .epoch_start = end - 20},
                 [](HostRank& rank, Findings& findings) { barrier_launches(rank, findings, 14); });
  }
}

double cpu_seconds_of_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

TEST_P(Launches, AWaitingRankSleeps) {
  for (bool oversubscribed : {false, true}) {
    expect_sound(2, {.workers = 1, .oversubscribed = oversubscribed},
                 [](HostRank& rank, Findings& findings) {
                   const double cpu = cpu_seconds_of_thread();
                   run_launch(rank, launch_of(1, idle_cube, [&](VectorCore& core) {
                                if (rank.rank() == 0) {
                                  core.wait_epoch({EpochSlot::Kind::arrived, 1}, 1);
                                  return;
                                }
                                std::this_thread::sleep_for(milliseconds(300));
                                core.store_epoch(0, {EpochSlot::Kind::arrived, 1}, 1);
                              }));
                   const double burned = cpu_seconds_of_thread() - cpu;
                   findings.expect(burned < 0.05, "burned ", burned, " s of CPU");
                 });
  }
}

constexpr int kTimeout = 1000;

// Runs a kernel on rank 0 that waits for ever while rank 1 is busy, and returns how rank 0 ended.
RankOutcome outcome_of_wait(const std::string& transport, int workers, int blocks,
                            const CubeKernel& cube, const VectorKernel& vector) {
  const HostOptions options{.workers = workers, .timeout_ms = kTimeout};
  return run_test_world(transport, 2, options, [&](HostRank& rank, Findings&) {
    if (rank.rank() == 1) {
      std::this_thread::sleep_for(milliseconds(kTimeout * 3 / 2));
      return;
    }
    const auto start = Clock::now();
    try {
      run_launch(rank, launch_of(blocks, cube, vector));
    } catch (const Error& error) {
      const double waited = std::chrono::duration<double>(Clock::now() - start).count();
      throw Error(error.kind(), cat(waited < 0.8 || waited > 1.2 ? "at the wrong time " : "",
                                    static_cast<int>(error.kind()), " ", error.what()));
    }
  })[0];
}

// The report of a time-out, with the milliseconds, lines and pids replaced by #.
std::string without_numbers_of_the_day(std::string text) {
  for (const std::string_view before : {"waited ", ".cc:", "(pid ", "heard of "}) {
    for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
      at += before.size();
      std::size_t end = at;
      while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
      text.replace(at, end - at, "#");
    }
  }
  return text;
}

TEST_P(Launches, AFlagThatNeverComesIsReportedWithItsWaiter) {
  const RankOutcome outcome = outcome_of_wait(
      GetParam(), 1, 2,
      [](CubeCore& core) {
        if (core.block() == 1) core.wait_flag(FlagId{5});
      },
      idle_vector);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(without_numbers_of_the_day(outcome.message),
            "3 rank 0 cube 1: waited # ms for flag 5 of its block, expected set number 1, is 0 "
            "(src/host/launch_site_test.cc:#)");
}

TEST_P(Launches, AnEpochThatNeverComesIsReportedWithBothValuesAndThePeer) {
  const RankOutcome outcome = outcome_of_wait(GetParam(), 1, 1, idle_cube, [](VectorCore& core) {
    core.wait_epoch({EpochSlot::Kind::arrived, 1}, 7);
  });
  const bool is_linked = GetParam() != "shm" && GetParam() != "threads";
  EXPECT_EQ(without_numbers_of_the_day(outcome.message),
            cat("3 rank 0 vector 0: waited # ms for the barrier word of rank 1, expected 7, is 0 "
                "(src/host/launch_site_test.cc:#); rank 1 (pid #) is running",
                is_linked ? ", heard of # ms ago" : ""));
}

TEST_P(Launches, AMeetingWithoutOneCoreIsReportedByAllWhoWait) {
  const RankOutcome outcome = outcome_of_wait(GetParam(), 1, 3, idle_cube, [](VectorCore& core) {
    if (core.block() != 1) core.sync_all();
  });
  const std::string text = without_numbers_of_the_day(outcome.message);
  for (int block : {0, 2}) {
    EXPECT_NE(
        text.find(cat("rank 0 vector ", block,
                      ": waited # ms for sync_all number 1 of its kind, 2 of 3 cores are there, "
                      "vector 1 is missing")),
        std::string::npos)
        << text;
  }
}

TEST_P(Launches, EveryCoreThatIsMissingAtALaterMeetingIsNamed) {
  const RankOutcome outcome = outcome_of_wait(GetParam(), 2, 4, idle_cube, [](VectorCore& core) {
    core.sync_all();
    if (core.block() == 0 || core.block() == 2) core.sync_all();
  });
  const std::string text = without_numbers_of_the_day(outcome.message);
  EXPECT_NE(text.find("sync_all number 2 of its kind, 2 of 4 cores are there, vector 1, vector 3 "
                      "are missing"),
            std::string::npos)
      << text;
}

// The one who waits at the meeting sees no rank; the one who is missing there does.
TEST_P(Launches, AMeetingWhoseMissingCoreWaitsForARankNamesThatRank) {
  const RankOutcome outcome = outcome_of_wait(GetParam(), 2, 2, idle_cube, [](VectorCore& core) {
    if (core.block() == 0) {
      std::this_thread::sleep_for(milliseconds(150));  // so that the other core's time is up first
      core.wait_epoch({EpochSlot::Kind::arrived, 1}, 7);
    }
    core.sync_all();
  });
  const std::string text = without_numbers_of_the_day(outcome.message);
  EXPECT_NE(
      text.find("rank 0 vector 1: waited # ms for sync_all number 1 of its kind, 1 of 2 cores "
                "are there, vector 0 is missing"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("; vector 0 waits for rank 1 (pid #) is running"), std::string::npos) << text;
}

TEST_P(Launches, WaitsOfTheReportingWorkerAreDescribed) {
  const RankOutcome outcome = outcome_of_wait(
      GetParam(), 2, 4, idle_cube, [](VectorCore& core) { core.wait_flag(FlagId{core.block()}); });
  const std::string text = without_numbers_of_the_day(outcome.message);
  EXPECT_EQ(text.find("at the wrong time"), std::string::npos) << text;
  int described = 0;
  for (int block = 0; block < 4; ++block) {
    described += text.find(cat("rank 0 vector ", block, ": waited # ms for flag ", block)) !=
                 std::string::npos;
  }
  EXPECT_EQ(described, 2) << text;  // the two blocks of one worker
}

TEST_P(Launches, AKernelThatFailsCancelsAllRanks) {
  for (int workers : {1, 2}) {
    const auto start = Clock::now();
    const HostOptions options{.workers = workers, .timeout_ms = 20000};
    const auto outcomes = run_test_world(GetParam(), 3, options, [](HostRank& rank, Findings&) {
      run_launch(rank, launch_of(
                           4, [](CubeCore& core) { core.wait_flag(FlagId{1}); },
                           [](VectorCore& core) {
                             if (core.rank() == 1 && core.block() == 3) {
                               throw Error(ErrorKind::environment, "no memory for a tile");
                             }
                             core.sync_all();
                           }));
    });
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 2.0);
    EXPECT_EQ(outcomes[1].exit_code, 5);
    EXPECT_EQ(outcomes[1].message, "no memory for a tile");
    EXPECT_FALSE(outcomes[1].secondary);
    for (int rank : {0, 2}) {
      EXPECT_EQ(outcomes[rank].exit_code, 3);
      EXPECT_TRUE(outcomes[rank].secondary);
      EXPECT_TRUE(outcomes[rank].message.starts_with("rank 1 failed: no memory for a tile"))
          << outcomes[rank].message;
    }
  }
}

// A rank that failed gives its windows back while another one still writes to them.
TEST_P(Launches, TheWindowOfAFailedRankOutlivesIt) {
  const HostOptions options{.workers = 1, .timeout_ms = 20000};
  const auto outcomes = run_test_world(GetParam(), 2, options, [](HostRank& rank, Findings&) {
    constexpr std::int64_t kBytes = 1 << 20;
    const Windows windows = rank.allocate_windows(kBytes);
    Launch launch = launch_of(1, idle_cube, [&](VectorCore& core) {
      if (rank.rank() == 0) throw Error(ErrorKind::environment, "rank 0 gives up");
      const auto end = Clock::now() + milliseconds(200);
      while (Clock::now() < end) {
        core.channel(0).write_nbi({0, Buffer::window_data, 0, 1, kBytes, kBytes},
                                  {1, Buffer::c, 0, 1, kBytes, kBytes});
        core.channel(0).drain();
      }
      core.wait_epoch({EpochSlot::Kind::arrived, 0}, 1);
    });
    launch.extents[static_cast<std::size_t>(Buffer::c)].bytes = kBytes;
    launch.extents[static_cast<std::size_t>(Buffer::window_data)].bytes = kBytes;
    std::vector<std::byte> local(kBytes);
    Bindings bindings;
    bindings.local[static_cast<std::size_t>(Buffer::c)] = local.data();
    WorkerPool pool(1);
    LaunchSite site(rank, pool, std::move(launch), windows);
    try {
      site.run(bindings);
    } catch (const Error&) {
      rank.free_windows(windows);
      throw;
    }
  });
  EXPECT_EQ(outcomes[0].exit_code, 5);
  EXPECT_EQ(outcomes[1].exit_code, 3) << outcomes[1].message;
  EXPECT_TRUE(outcomes[1].secondary);
}

}  // namespace
}  // namespace tandem::host
