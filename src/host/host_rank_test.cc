// SPDX-License-Identifier: Apache-2.0
#include "host/host_rank.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <ctime>
#include <thread>

#include "host/test_world.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

using std::chrono::milliseconds;

class HostRanks : public testing::TestWithParam<std::string> {
 protected:
  std::vector<RankOutcome> run(int ranks, const HostOptions& options, const TestMain& main) {
    return run_test_world(GetParam(), ranks, options, main);
  }
  void expect_sound(int ranks, const TestMain& main) {
    EXPECT_EQ(failures_of(run(ranks, {.timeout_ms = 10000}, main)), "");
  }
};

INSTANTIATE_TEST_SUITE_P(All, HostRanks, testing::ValuesIn(built_transports()),
                         [](const auto& instance) { return instance.param; });

double cpu_seconds_of_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

TEST_P(HostRanks, NobodyLeavesAMeetingBeforeTheLastHasCome) {
  expect_sound(4, [](HostRank& rank, Findings& findings) {
    const Windows windows = rank.allocate_windows(4 * 8);
    for (std::uint64_t turn = 1; turn <= 200; ++turn) {
      rank.write_window(windows, 0, rank.rank() * 8, &turn, 8);
      rank.meet("a turn");
      std::array<std::uint64_t, 4> turns{};
      rank.read_window(windows, 0, 0, turns.data(), 4 * 8);
      for (const std::uint64_t seen : turns) {
        findings.expect_equal(seen, turn, "the turn that a rank came to");
      }
      rank.meet("the end of a turn");
    }
    rank.free_windows(windows);
  });
}

TEST_P(HostRanks, ALateRankIsWaitedForWithoutSpinning) {
  expect_sound(3, [](HostRank& rank, Findings& findings) {
    if (rank.rank() == 2) {
      std::this_thread::sleep_for(milliseconds(300));
      rank.meet("the late one");
      return;
    }
    const double cpu = cpu_seconds_of_thread();
    const auto start = Clock::now();
    rank.meet("the late one");
    const auto waited = std::chrono::duration<double>(Clock::now() - start).count();
    findings.expect(waited > 0.25, "waited only ", waited, " s");
    findings.expect(cpu_seconds_of_thread() - cpu < 0.05, "burned ", cpu_seconds_of_thread() - cpu,
                    " s of CPU");
  });
}

TEST_P(HostRanks, AMissingRankIsNamedAtTheDeadline) {
  constexpr int kTimeout = 1000;
  std::vector<RankOutcome> outcomes =
      run(3, {.timeout_ms = kTimeout}, [](HostRank& rank, Findings&) {
        if (rank.rank() == 1) {
          // Longer than the others wait, and shorter than the launcher does.
          std::this_thread::sleep_for(milliseconds(kTimeout * 2));
          return;
        }
        const auto start = Clock::now();
        try {
          rank.meet("a meeting of three");
        } catch (const Error& error) {
          const auto waited = std::chrono::duration<double>(Clock::now() - start).count();
          throw Error(error.kind(), cat("after ", waited < 0.8 || waited > 1.2 ? "wrong" : "right",
                                        " time ", waited, ": ", error.what()));
        }
      });
  bool timed_out = false;
  for (int rank : {0, 2}) {
    const RankOutcome& outcome = outcomes[rank];
    EXPECT_EQ(outcome.exit_code, 3) << outcome.message;
    EXPECT_NE(outcome.message.find("after right time"), std::string::npos) << outcome.message;
    EXPECT_NE(outcome.message.find("a meeting of three"), std::string::npos) << outcome.message;
    EXPECT_NE(outcome.message.find("rank 1 (pid "), std::string::npos) << outcome.message;
    EXPECT_EQ(outcome.message.find("rank 2 (pid "), std::string::npos) << outcome.message;
    timed_out |= !outcome.secondary;
  }
  EXPECT_TRUE(timed_out);  // the first to time out cancels the other
}

TEST_P(HostRanks, EveryRankLearnsTheTextsOfAll) {
  expect_sound(5, [](HostRank& rank, Findings& findings) {
    for (int turn = 0; turn < 50; ++turn) {
      const auto texts = rank.exchange("a test", cat("turn ", turn, " of rank ", rank.rank()));
      findings.expect_equal(texts.size(), std::size_t{5}, "texts");
      for (int peer = 0; peer < 5; ++peer) {
        findings.expect_equal(texts[peer], cat("turn ", turn, " of rank ", peer), "the text");
      }
    }
  });
}

TEST_P(HostRanks, TheLongestAndTheEmptyTextArriveWhole) {
  expect_sound(2, [](HostRank& rank, Findings& findings) {
    const auto texts = rank.exchange(
        "a test", rank.rank() == 0 ? std::string(kTextBytes - 1, 'x') : std::string());
    findings.expect(texts[0] == std::string(kTextBytes - 1, 'x'), "the long text changed");
    findings.expect(texts[1].empty(), "the empty text changed");
  });
}

TEST_P(HostRanks, AWindowThatOneRankCannotHaveIsTheSameErrorOnAll) {
  const auto outcomes = run(3, {.timeout_ms = 10000}, [](HostRank& rank, Findings& findings) {
    try {
      rank.allocate_windows(rank.rank() == 1 ? std::int64_t{1} << 50 : 4096);
      findings.expect(false, "2^50 bytes were allocated");
    } catch (const Error& error) {
      findings.expect(error.kind() == ErrorKind::environment, "another kind of error");
      findings.expect(false, error.what());  // told to the test
    }
    // The world is whole: a smaller window can be had.
    const Windows windows = rank.allocate_windows(4096);
    const std::byte one{1};
    rank.write_window(windows, 1, rank.rank(), &one, 1);
    rank.meet("the end of writing");
    rank.free_windows(windows);
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.message;
    EXPECT_EQ(outcome.result, outcomes[0].result);
    EXPECT_NE(outcome.result.find("rank 1"), std::string::npos) << outcome.result;
    EXPECT_NE(outcome.result.find(std::to_string(std::int64_t{1} << 50)), std::string::npos)
        << outcome.result;
  }
}

// Takes its time to map the window of the last rank.
class SlowToMap final : public Transport {
 public:
  explicit SlowToMap(int ranks) : inner_(make_transport("threads", ranks)) {}
  int mapped() const { return mapped_.load(); }

  std::string_view name() const override { return inner_->name(); }
  int ranks() const override { return inner_->ranks(); }
  ControlArea& control() override { return inner_->control(); }
  WindowRange reserve(int rank, std::int64_t bytes) override {
    return inner_->reserve(rank, bytes);
  }
  std::byte* map(int owner, const WindowRange& range) override {
    if (owner + 1 == ranks()) std::this_thread::sleep_for(milliseconds(40 * ++turn_));
    std::byte* address = inner_->map(owner, range);
    ++mapped_;
    return address;
  }
  void unmap(int owner, std::byte* address, const WindowRange& range) override {
    inner_->unmap(owner, address, range);
  }
  void release(int rank, const WindowRange& range) override { inner_->release(rank, range); }

 private:
  std::unique_ptr<Transport> inner_;
  std::atomic<int> turn_ = 0;
  std::atomic<int> mapped_ = 0;
};

TEST(Windows, AreMappedOnAllRanksBeforeAnyRankHasThem) {
  constexpr int kRanks = 4;
  SlowToMap transport(kRanks);
  const auto outcomes =
      run_as_threads(transport,
                     [&transport](int index) -> std::string {
                       HostRank rank(transport, index, {.timeout_ms = 10000});
                       rank.allocate_windows(4096);
                       const int mapped = transport.mapped();
                       return mapped == kRanks * kRanks ? "" : cat("only ", mapped, " were mapped");
                     },
                     {});
  EXPECT_EQ(failures_of(outcomes), "");
}

TEST_P(HostRanks, AFailureReachesAllWhoWait) {
  const auto start = Clock::now();
  const auto outcomes = run(4, {.timeout_ms = 20000}, [](HostRank& rank, Findings&) {
    if (rank.rank() == 2) throw Error(ErrorKind::refused, "rank 2: no input; give one");
    rank.meet("the next step");
  });
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 2.0);
  EXPECT_EQ(outcomes[2].exit_code, 2);
  EXPECT_FALSE(outcomes[2].secondary);
  for (int rank : {0, 1, 3}) {
    EXPECT_EQ(outcomes[rank].exit_code, 3);
    EXPECT_TRUE(outcomes[rank].secondary);
    EXPECT_EQ(outcomes[rank].message, "rank 2 failed: rank 2: no input; give one");
  }
}

TEST_P(HostRanks, EpochsOfLaunchesFollowEachOther) {
  const auto outcomes =
      run(2, {.epoch_start = ~std::uint64_t{0} - 1}, [](HostRank& rank, Findings& findings) {
        findings.expect_equal(rank.begin_epochs(3), ~std::uint64_t{0} - 1, "the first launch");
        findings.expect_equal(rank.begin_epochs(5), std::uint64_t{1}, "the second launch");
        findings.expect_equal(rank.begin_epochs(1), std::uint64_t{6}, "the third launch");
      });
  EXPECT_EQ(failures_of(outcomes), "");
}

TEST_P(HostRanks, PeersAreDescribedByWhatTheyDo) {
  const auto outcomes = run(2, {.timeout_ms = 10000}, [](HostRank& rank, Findings& findings) {
    const int peer = 1 - rank.rank();
    const std::string text = rank.describe_peer(peer);
    findings.expect(text.starts_with(cat("rank ", peer, " (pid ")), text);
    const bool is_linked = rank.link() != nullptr;
    findings.expect(text.find(") is running") != std::string::npos, text);
    findings.expect((text.find(", heard of ") != std::string::npos) == is_linked, text);
    rank.meet("the end");
  });
  EXPECT_EQ(failures_of(outcomes), "");
  if (GetParam() != "shm" && GetParam() != "threads")
    return;  // there a rank is not alone: it would wait for the other
  const auto transport = make_test_transport(GetParam(), 2);
  HostRank alone(*transport, 0, {});
  EXPECT_EQ(alone.describe_peer(1), "rank 1 (never came)");
}

// The last to come lets all others go, and may fail before they have looked: they were met.
TEST_P(HostRanks, AFailureAfterAMeetingDoesNotUndoTheMeeting) {
  for (int turn = 0; turn < 30; ++turn) {
    const auto outcomes = run(6, {.timeout_ms = 10000}, [](HostRank& rank, Findings&) {
      rank.meet("all together");
      throw Error(ErrorKind::refused, "refused by all");
    });
    for (const RankOutcome& outcome : outcomes) ASSERT_EQ(outcome.exit_code, 2) << outcome.message;
  }
}

}  // namespace
}  // namespace tandem::host
