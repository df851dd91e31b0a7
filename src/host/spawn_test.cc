// SPDX-License-Identifier: Apache-2.0
#include "host/spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <ios>
#include <map>
#include <set>
#include <system_error>
#include <thread>

#include "host/test_descriptors.h"
#include "host/test_world.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

std::set<std::string> entries_of(const char* folder) {
  std::set<std::string> names;
  DIR* open = opendir(folder);
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open)) names.insert(entry->d_name);
  closedir(open);
  return names;
}

// Nothing of a world may be left when it has ended: no child, no descriptor, no named memory.
class Spawn : public testing::Test {
 protected:
  void SetUp() override {
    shared_ = entries_of("/dev/shm");
    descriptors_ = entries_of("/proc/self/fd").size();
  }
  void TearDown() override {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(entries_of("/dev/shm"), shared_);
    EXPECT_EQ(entries_of("/proc/self/fd").size(), descriptors_);
  }

 private:
  std::set<std::string> shared_;
  std::size_t descriptors_ = 0;
};

std::vector<RankOutcome> run_processes(int ranks, const RankMain& main,
                                       const ProgressSink& progress = {}) {
  const auto transport = make_transport("shm", ranks);
  return run_as_processes(*transport, main, progress);
}

std::vector<RankOutcome> run_threads(int ranks, const RankMain& main,
                                     const ProgressSink& progress = {}) {
  const auto transport = make_transport("threads", ranks);
  return run_as_threads(*transport, main, progress);
}

TEST_F(Spawn, ResultsComeInTheOrderOfRanks) {
  const auto main = [](int rank) { return cat("result of ", rank); };
  for (const auto& outcomes : {run_processes(7, main), run_threads(7, main)}) {
    ASSERT_EQ(outcomes.size(), 7u);
    for (int rank = 0; rank < 7; ++rank) {
      EXPECT_EQ(outcomes[rank].exit_code, 0);
      EXPECT_EQ(outcomes[rank].result, cat("result of ", rank));
      EXPECT_EQ(outcomes[rank].message, "");
    }
  }
}

TEST_F(Spawn, SixtyFourProcessesMeet) {
  const auto outcomes =
      run_test_world("shm", 64, {.timeout_ms = 30000}, [](HostRank& rank, Findings& findings) {
        const auto texts = rank.exchange("a test", std::to_string(rank.rank()));
        for (int peer = 0; peer < 64; ++peer) {
          findings.expect_equal(texts[peer], std::to_string(peer), "the text");
        }
      });
  EXPECT_EQ(outcomes.size(), 64u);
  EXPECT_EQ(failures_of(outcomes), "");
}

TEST_F(Spawn, AMegabyteOfResultArrivesWhole) {
  const auto outcomes = run_processes(3, [](int rank) {
    std::string text(1 << 20, ' ');
    for (std::size_t i = 0; i < text.size(); ++i) {
      text[i] = static_cast<char>('a' + (i * 7 + rank) % 26);
    }
    return text;
  });
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(outcomes[rank].result.size(), std::size_t{1} << 20);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < outcomes[rank].result.size(); ++i) {
      wrong += outcomes[rank].result[i] != static_cast<char>('a' + (i * 7 + rank) % 26);
    }
    EXPECT_EQ(wrong, 0u);
  }
}

TEST_F(Spawn, ProgressLinesArriveInOrderAndBeforeTheEnd) {
  constexpr int kLines = 200;
  const auto main = [](int rank) {
    for (int line = 0; line < kLines; ++line) send_progress(cat(rank, ":", line));
    return std::string();
  };
  for (const auto run : {run_processes, run_threads}) {
    std::map<int, std::vector<std::string>> lines;
    run(4, main, [&](int rank, const std::string& line) { lines[rank].push_back(line); });
    for (int rank = 0; rank < 4; ++rank) {
      ASSERT_EQ(lines[rank].size(), static_cast<std::size_t>(kLines));
      for (int line = 0; line < kLines; ++line) {
        EXPECT_EQ(lines[rank][line], cat(rank, ":", line));
      }
    }
  }
}

TEST_F(Spawn, ProgressWithoutASinkIsNoError) {
  const auto main = [](int) {
    send_progress("nobody listens");
    return std::string("fine");
  };
  for (const auto& outcomes : {run_processes(2, main), run_threads(2, main)}) {
    for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.result, "fine");
  }
  send_progress("not even a world");
}

TEST_F(Spawn, AnErrorBringsItsTextAndItsExitCode) {
  const auto main = [](int rank) -> std::string {
    if (rank == 0) throw Error(ErrorKind::refused, "m is -1; use 0 or more");
    if (rank == 1) throw std::bad_alloc();
    if (rank == 2) throw std::runtime_error("an exception of the user");
    return "fine";
  };
  for (const auto& outcomes : {run_processes(4, main), run_threads(4, main)}) {
    EXPECT_EQ(outcomes[0].exit_code, 2);
    EXPECT_EQ(outcomes[0].message, "m is -1; use 0 or more");
    EXPECT_EQ(outcomes[1].exit_code, 5);
    EXPECT_NE(outcomes[1].message.find("memory"), std::string::npos);
    EXPECT_EQ(outcomes[2].exit_code, 134);
    EXPECT_NE(outcomes[2].message.find("an exception of the user"), std::string::npos);
    EXPECT_EQ(outcomes[3].exit_code, 0);
    EXPECT_EQ(outcomes[3].result, "fine");
  }
}

TEST_F(Spawn, AKilledRankIsNamedAndTheOthersLoseIt) {
  const auto start = Clock::now();
  const auto outcomes =
      run_test_world("shm", 4, {.timeout_ms = 20000}, [](HostRank& rank, Findings&) {
        if (rank.rank() == 2) raise(SIGKILL);
        rank.meet("a meeting without rank 2");
      });
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 2.0);
  EXPECT_EQ(outcomes[2].exit_code, 128 + SIGKILL);
  EXPECT_FALSE(outcomes[2].secondary);
  EXPECT_NE(outcomes[2].message.find("signal 9"), std::string::npos) << outcomes[2].message;
  for (int rank : {0, 1, 3}) {
    EXPECT_EQ(outcomes[rank].exit_code, 3);
    EXPECT_TRUE(outcomes[rank].secondary);
    EXPECT_NE(outcomes[rank].message.find("rank 2 (pid "), std::string::npos);
    EXPECT_NE(outcomes[rank].message.find("is dead"), std::string::npos) << outcomes[rank].message;
  }
}

TEST_F(Spawn, ARankThatLeavesWithoutAResultIsABug) {
  const auto outcomes = run_processes(2, [](int rank) -> std::string {
    if (rank == 1) _exit(0);
    return "fine";
  });
  EXPECT_EQ(outcomes[0].result, "fine");
  EXPECT_EQ(outcomes[1].exit_code, 134);
  EXPECT_NE(outcomes[1].message.find("without a result"), std::string::npos);
}

TEST_F(Spawn, WhoeverDoesNotEndAfterAFailureIsKilled) {
  const auto start = Clock::now();
  const auto outcomes = run_processes(3, [](int rank) -> std::string {
    if (rank == 1) throw Error(ErrorKind::refused, "no");
    if (rank == 2) std::this_thread::sleep_for(std::chrono::seconds(60));
    return "fine";
  });
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  EXPECT_GT(seconds, 1.1);
  EXPECT_LT(seconds, 4.0);
  EXPECT_EQ(outcomes[0].result, "fine");
  EXPECT_EQ(outcomes[2].exit_code, 128 + SIGKILL);
  EXPECT_TRUE(outcomes[2].secondary);
}

TEST_F(Spawn, ATerminationEndsAllRanks) {
  struct sigaction before {};
  sigaction(SIGTERM, nullptr, &before);
  const auto start = Clock::now();
  const auto outcomes = run_processes(3, [](int rank) -> std::string {
    if (rank == 1) kill(getppid(), SIGTERM);
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return "woke up";
  });
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 3.0);
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 128 + SIGTERM);
  struct sigaction after {};
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

// An error of the system is a lack only if it says so; any other is the program's own.
TEST_F(Spawn, OnlyALackOfThreadsOrDescriptorsIsOneOfTheEnvironment) {
  for (const int lack : {EAGAIN, EMFILE, ENFILE, ENOMEM}) {
    const auto outcomes = run_threads(
        1, [lack](int) -> std::string { throw std::system_error(lack, std::generic_category()); });
    EXPECT_EQ(outcomes[0].exit_code, 5) << outcomes[0].message;
    EXPECT_NE(outcomes[0].message.find("raise the limits"), std::string::npos);
  }
  const auto outcomes = run_threads(2, [](int rank) -> std::string {
    if (rank == 0) return cat(std::filesystem::file_size("/no/such/file"));
    throw std::ios_base::failure("an input is empty");
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.exit_code, 134);
    EXPECT_EQ(outcome.message.find("descriptor"), std::string::npos) << outcome.message;
  }
  EXPECT_NE(outcomes[0].message.find("/no/such/file"), std::string::npos) << outcomes[0].message;
  EXPECT_NE(outcomes[1].message.find("an input is empty"), std::string::npos);
}

// The memory files of shm take the last descriptors, and the pipes find none.
TEST_F(Spawn, AsManyDescriptorsAsRanksAreTooFewAndSaidSo) {
  if (!kCanHaveNone) GTEST_SKIP() << "this build needs descriptors of its own";
  const FewDescriptors few(4);
  try {
    run_processes(4, [](int) { return std::string(); });
    FAIL() << "it was started";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("5 more descriptors are needed, 0 are free"), std::string::npos) << text;
  }
}

// With few descriptors left, a rank cannot have its pipe: nobody runs on, and the caller's signal
// handlers are back.
TEST_F(Spawn, AWorldThatCannotStartIsAnErrorOfTheEnvironment) {
  struct sigaction before {};
  sigaction(SIGINT, nullptr, &before);
  const auto transport = make_transport("shm", 8);
  const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(next);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit few{static_cast<rlim_t>(next + 5), limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  std::string text;
  try {
    run_as_processes(*transport,
                     [](int) -> std::string {
                       std::this_thread::sleep_for(std::chrono::seconds(60));
                       return "";
                     },
                     {});
  } catch (const Error& error) {
    text = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::environment);
  }
  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_NE(text.find("more descriptors are needed"), std::string::npos) << text;
  struct sigaction after {};
  sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace tandem::host
