// SPDX-License-Identifier: Apache-2.0
// Groups of ranks are worlds of their own: no flag, window or failure of one is seen by another.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <regex>
#include <thread>

#include "base/strings.h"
#include "harness.h"
#include "soak.h"
#include "tandem/error.h"
#include "world_impl.h"

namespace tandem::differential {
namespace {

constexpr std::int64_t kTimeoutMs = 20000;

class Groups : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!is_built(GetParam())) GTEST_SKIP() << "this build has no " << GetParam();
  }
  WorldOptions options(int ranks) const {
    return resolve_transport(
        {.ranks = ranks, .transport = GetParam(), .timeout_ms = kTimeoutMs, .workers = 1});
  }
};
INSTANTIATE_TEST_SUITE_P(All, Groups, testing::Values("shm", "threads", "tcp", "tcp_shared", "ucx"),
                         [](const auto& chosen) { return std::string(chosen.param); });

using Members = std::vector<int>;

// Makes the groups and lets this rank's work in all of them at once, each on a thread of its own,
// while the whole world works too. Other launches in each.
std::string work_in(World& world, const std::vector<Members>& groups, int launches) {
  std::vector<std::unique_ptr<World>> made;
  for (const Members& members : groups) made.push_back(world.group(members));
  std::vector<std::future<std::string>> works;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i] == nullptr) continue;
    const int count = launches + 37 * static_cast<int>(i);
    works.push_back(std::async(std::launch::async, [&group = *made[i], i, count] {
      return soak_in(group, 100 + i, count);
    }));
  }
  std::string failures = soak_in(world, 5, launches);
  for (auto& work : works) failures += work.get();
  return failures;
}

TEST_P(Groups, TwoDisjointOnesWorkAtTheSameTime) {
  EXPECT_EQ(run_world(options(4),
                      [](World& world) {
                        return work_in(world, {{0, 1}, {2, 3}}, 60);
                      }),
            "");
}

TEST_P(Groups, TwoOverlappingOnesWorkAtTheSameTime) {
  EXPECT_EQ(run_world(options(4),
                      [](World& world) {
                        return work_in(world, {{2, 0, 1}, {1, 2, 3}}, 60);
                      }),
            "");
}

TEST_P(Groups, RanksAreNumberedInTheOrderOfTheirNames) {
  const Members members{3, 0, 2};
  EXPECT_EQ(run_world(options(4),
                      [&](World& world) -> std::string {
                        const auto group = world.group(members);
                        const bool is_member = world.rank() != 1;
                        if ((group != nullptr) != is_member) return "a member has no group";
                        if (!is_member) return "";
                        if (group->size() != 3) return cat("its size is ", group->size());
                        return members[group->rank()] == world.rank()
                                   ? ""
                                   : cat("its rank is ", group->rank());
                      }),
            "");
}

TEST_P(Groups, ComeAndGoWhileOthersStay) {
  EXPECT_EQ(run_world(options(3),
                      [](World& world) -> std::string {
                        const auto all = world.group({0, 1, 2});
                        for (int turn = 0; turn < 20; ++turn) {
                          const auto pair = world.group({turn % 3, (turn + 1) % 3});
                          if (pair != nullptr) pair->barrier();
                        }
                        return soak_in(*all, 9, 40);
                      }),
            "");
}

TEST_P(Groups, ThatMakeNoSenseAreRefusedOnAllRanks) {
  const auto refusal = [](World& world, const Members& members) -> std::string {
    try {
      world.group(members);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::refused ? error.what() : cat("no refusal: ", error.what());
    }
    return "made";
  };
  EXPECT_EQ(
      run_world(options(3),
                [&](World& world) -> std::string {
                  std::string text = refusal(world, {0, 1, 0});
                  if (!text.starts_with("group: of its ranks 0 1 0, rank 0 is named twice")) {
                    return text;
                  }
                  text = refusal(world, {1, 3});
                  if (text.find("rank 3 is named twice or none of 3") == std::string::npos) {
                    return text;
                  }
                  text = refusal(world, {});
                  if (text.find("no ranks") == std::string::npos) return text;
                  text = refusal(world, {0, world.rank() == 2 ? 2 : 1});
                  return text == "group: members is 0 2 on rank 2 and 0 1 on rank 0; give all "
                                 "ranks the same"
                             ? ""
                             : text;
                }),
      "");
}

// The one who fails in a group says so there, and everybody works on in the whole world.
TEST_P(Groups, WhatBreaksOneLeavesTheOthersAndTheWholeAsTheyAre) {
  WorldOptions impatient = options(4);
  impatient.timeout_ms = 2000;
  EXPECT_EQ(run_world(impatient,
                      [](World& world) -> std::string {
                        const auto broken = world.group({0, 1});
                        const auto sound = world.group({2, 3, 0});
                        std::string failures;
                        if (world.rank() == 0) {
                          try {
                            broken->barrier();  // rank 1 does not come
                            failures = "a barrier without rank 1";
                          } catch (const Error& error) {
                            if (error.kind() != ErrorKind::timeout) failures = error.what();
                          }
                        }
                        if (sound != nullptr && world.rank() != 0) {
                          std::this_thread::sleep_for(std::chrono::milliseconds(1800));
                        }
                        if (sound != nullptr) failures += soak_in(*sound, 3, 5);
                        if (sound == nullptr) {
                          std::this_thread::sleep_for(std::chrono::milliseconds(1800));
                        }
                        return failures + soak_in(world, 4, 20);
                      }),
            "");
}

TEST_P(Groups, AMemberThatIsKilledIsReportedInItsGroup) {
  if (std::string(GetParam()) == "threads") GTEST_SKIP() << "a thread cannot be killed alone";
  const auto start = std::chrono::steady_clock::now();
  const auto outcomes = World::spawn(options(3), [](World& world) -> std::string {
    const auto group = world.group({2, 0, 1});
    if (world.rank() == 1) kill(getpid(), SIGKILL);
    group->barrier();
    return "";
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 5.0);
  EXPECT_EQ(outcomes[1].exit_code, 128 + SIGKILL);
  std::smatch killed;
  ASSERT_TRUE(std::regex_search(outcomes[1].message, killed, std::regex("^rank 1 .(pid \\d+)")));
  // As a rank of the whole world, whether the group or the whole has lost it first.
  const std::regex named(cat("rank 1 .(2 of the group 2 0 1, )?", killed.str(1), "\\b"));
  for (const int survivor : {0, 2}) {
    EXPECT_EQ(outcomes[survivor].exit_code, 3);
    EXPECT_TRUE(outcomes[survivor].secondary) << outcomes[survivor].message;
    EXPECT_TRUE(std::regex_search(outcomes[survivor].message, named)) << outcomes[survivor].message;
  }
}

// Two ranks of this host, each with as many workers as it has processors, are too many; two ranks
// on hosts of their own are not. A host is what has a name of its own here.
TEST(GroupsOfHosts, ShareProcessorsOnlyWithTheMembersOfTheSameHost) {
  if (geteuid() != 0) GTEST_SKIP() << "no right to name hosts";
  const WorldOptions options{
      .ranks = 2, .transport = "tcp", .timeout_ms = kTimeoutMs, .workers = default_workers(1)};
  EXPECT_EQ(run_world(options,
                      [](World& world) -> std::string {
                        const auto crowded = [](World& one) {
                          return one.impl().rank->options().oversubscribed;
                        };
                        if (!crowded(world)) return "the whole is not oversubscribed";
                        if (!crowded(*world.group({1, 0}))) return "nor is a group on one host";
                        const std::string name = cat("host", world.rank());
                        if (unshare(CLONE_NEWUTS) != 0) return "";  // not permitted here
                        if (sethostname(name.data(), name.size()) != 0) return "";
                        return crowded(*world.group({1, 0})) ? "one member on each host is" : "";
                      }),
            "");
}

}  // namespace
}  // namespace tandem::differential
