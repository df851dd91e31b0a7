// SPDX-License-Identifier: Apache-2.0
// Groups of ranks of this layer: what they hold, what they say, and how they are made while
// something fails.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "host/test_world.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

using std::chrono::milliseconds;
using Members = std::vector<int>;

// Collective over the members: this one's place in a group of `whole`.
class GroupPlace {
 public:
  GroupPlace(HostRank& whole, const Members& members, std::int64_t timeout_ms)
      : transport_(whole.transport().make_group(whole, members)) {
    place_ = static_cast<int>(std::ranges::find(members, whole.rank()) - members.begin());
    const HostOptions options{.timeout_ms = timeout_ms};
    rank_ = std::make_unique<HostRank>(*transport_, place_, options, &whole);
  }
  ~GroupPlace() {
    rank_.reset();
    if (transport_ != nullptr) transport_->leave(place_, "");
  }
  GroupPlace(const GroupPlace&) = delete;
  GroupPlace& operator=(const GroupPlace&) = delete;
  HostRank& rank() { return *rank_; }

 private:
  std::unique_ptr<Transport> transport_;
  int place_ = 0;
  std::unique_ptr<HostRank> rank_;
};

class HostGroups : public testing::TestWithParam<std::string> {
 protected:
  static constexpr int kTimeoutMs = 10000;
  void expect_sound(int ranks, const TestMain& main) {
    EXPECT_EQ(failures_of(run_test_world(GetParam(), ranks, {.timeout_ms = kTimeoutMs}, main)), "");
  }
  bool is_linked() const { return GetParam() == "tcp" || GetParam() == "ucx"; }
};
INSTANTIATE_TEST_SUITE_P(All, HostGroups, testing::ValuesIn(built_transports()),
                         [](const auto& instance) { return instance.param; });

std::string error_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Member 1 of the group 2 0 1 is rank 0: reports name the rank and its process.
TEST_P(HostGroups, ReportsNameTheRankOfTheWholeWorld) {
  expect_sound(3, [](HostRank& whole, Findings& findings) {
    const auto pids = whole.exchange("pids", std::to_string(getpid()));
    {
      GroupPlace group(whole, {2, 0, 1}, 500);
      if (whole.rank() != 0) {
        const std::string text = error_of([&] { group.rank().meet("a test"); });
        const std::string late = cat("rank 0 (1 of the group 2 0 1, pid ", pids[0], ") is running");
        findings.expect(text.find(late) != std::string::npos, text);
        const std::string waits = " of the group 2 0 1): waited 500 ms at a test for: ";
        findings.expect(text.find(waits) != std::string::npos, text);
      }
      whole.meet("the end of the group");
    }
    // A group of a group: its first member is member 2 of the other one.
    GroupPlace outer(whole, {2, 0, 1}, kTimeoutMs);
    GroupPlace inner(outer.rank(), {2, 1, 0}, kTimeoutMs);
    inner.rank().meet("the start of the inner group");
    const std::string text = inner.rank().describe_peer(0);
    findings.expect(text.starts_with(cat("rank 1 (0 of the group 1 0 2, pid ", pids[1])), text);
    outer.rank().meet("the end of the inner group");
  });
}

TEST_P(HostGroups, AWindowThatAMemberCannotHaveNamesItAsTheWholeDoes) {
  expect_sound(3, [](HostRank& whole, Findings& findings) {
    GroupPlace group(whole, {2, 0, 1}, kTimeoutMs);
    const std::int64_t bytes = group.rank().rank() == 0 ? std::int64_t{1} << 50 : 4096;
    const std::string text = error_of([&] { group.rank().allocate_windows(bytes); });
    findings.expect(text.find("rank 2") != std::string::npos, text);
    findings.expect(text.find("rank 0:") == std::string::npos, text);
    whole.meet("the end of the group");
  });
}

// Bytes of the memory files and of the address space of this process.
std::int64_t held_bytes() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  std::int64_t bytes = pages * getpagesize();
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (read_symlink(entry.path(), gone).string().find("memfd:") == std::string::npos) continue;
    struct stat file {};
    if (stat(entry.path().c_str(), &file) == 0) bytes += file.st_blocks * 512;
  }
  return bytes;
}

// Its windows may still be written when a group fails; when all have left it, none is there.
TEST_P(HostGroups, ThatFailedHoldNoMemoryWhenAllHaveLeft) {
  expect_sound(2, [](HostRank& whole, Findings& findings) {
    constexpr std::int64_t kBytes = 128 << 20;  // more than what else comes and goes
    std::int64_t first = 0;
    for (int turn = 0; turn < 4; ++turn) {
      {
        GroupPlace group(whole, {1, 0}, kTimeoutMs);
        const Windows small = group.rank().allocate_windows(100);
        const Windows large = group.rank().allocate_windows(whole.rank() == 1 ? kBytes : 5000);
        group.rank().meet("the end of allocation");
        if (turn % 2 == whole.rank()) group.rank().poison("a test");
        whole.meet("the failure");
        group.rank().free_windows(small);
        group.rank().free_windows(large);
        if (turn % 2 == 0) whole.meet("the end of the windows");
      }
      whole.meet("the end of the group");
      if (turn == 0) first = held_bytes();
      whole.meet("the end of the turn");
    }
    const std::int64_t grown = held_bytes() - first;
    findings.expect(grown < kBytes, "three failed groups hold ", grown, " bytes");
  });
}

// Its peers' links to it, in the whole world, know at once.
TEST_P(HostGroups, AMemberThatIsKilledWhileAGroupIsMadeEndsTheMaking) {
  if (!is_linked()) GTEST_SKIP() << "nothing is made there";
  for (const Members& members : {Members{0, 1, 2}, Members{1, 0, 2}, Members{2, 1, 0}}) {
    const auto outcomes =
        run_test_world(GetParam(), 3, {.timeout_ms = kTimeoutMs}, [&](HostRank& whole, Findings&) {
          const auto transport = whole.transport().make_group(whole, members);
          if (whole.rank() == 1) kill(getpid(), SIGKILL);
          const auto place = std::ranges::find(members, whole.rank()) - members.begin();
          const HostRank rank(*transport, static_cast<int>(place), {.timeout_ms = kTimeoutMs},
                              &whole);
        });
    const std::string killed = outcomes[1].message.substr(0, outcomes[1].message.find(')'));
    EXPECT_TRUE(killed.starts_with("rank 1 (pid ")) << killed;
    for (const int survivor : {0, 2}) {
      // Who does not end within 1.2 s of the loss is killed.
      EXPECT_EQ(outcomes[survivor].exit_code, 3) << outcomes[survivor].message;
      EXPECT_NE(outcomes[survivor].message.find(killed), std::string::npos)
          << outcomes[survivor].message;
    }
  }
}

// Nobody waits for who cannot come, and the whole world can be worked in.
TEST_P(HostGroups, AMemberThatHasTooFewDescriptorsIsToldToAll) {
  if (!is_linked()) GTEST_SKIP() << "no descriptors are needed there";
  expect_sound(3, [](HostRank& whole, Findings& findings) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const int next = dup(0);
    close(next);
    const rlimit few{static_cast<rlim_t>(next + 3), before.rlim_max};
    if (whole.rank() == 1) setrlimit(RLIMIT_NOFILE, &few);
    const auto start = Clock::now();
    const std::string text = error_of([&] {
      GroupPlace(whole, {0, 2, 1}, kTimeoutMs).rank().meet("a test");
    });
    findings.expect(Clock::now() - start < milliseconds(kTimeoutMs / 4), "it took too long");
    const std::regex wanted(
        "rank 1: a group of 3: \\d+ more descriptors are needed, \\d+ are free.*");
    findings.expect(std::regex_match(text, wanted), text);
    setrlimit(RLIMIT_NOFILE, &before);
    GroupPlace group(whole, {0, 2, 1}, kTimeoutMs);
    group.rank().meet("a test");
  });
}

}  // namespace
}  // namespace tandem::host
