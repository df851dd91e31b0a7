// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <thread>

#include "base/strings.h"
#include "host/net/socket.h"
#include "tandem/error.h"
#include "tandem/world.h"

namespace tandem {
namespace {

constexpr const char* kVariables[] = {"TANDEM_RANK",
                                      "TANDEM_SIZE",
                                      "TANDEM_ROOT",
                                      "TANDEM_JOB",
                                      "OMPI_COMM_WORLD_RANK",
                                      "OMPI_COMM_WORLD_SIZE",
                                      "PMI_RANK",
                                      "PMI_SIZE",
                                      "OMPI_COMM_WORLD_LOCAL_SIZE",
                                      "SLURM_PROCID",
                                      "SLURM_STEP_NUM_TASKS",
                                      "MPI_LOCALNRANKS",
                                      "SLURM_STEP_NODELIST",
                                      "SLURM_JOB_ID",
                                      "SLURM_STEP_ID",
                                      "OMPI_MCA_ess_base_jobid"};

// "rank/size root job", "none", or the message of a refusal.
std::string membership(const std::map<std::string, std::string>& variables) {
  for (const char* name : kVariables) unsetenv(name);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::string text = "none";
  try {
    if (const auto seat = membership_from_env()) {
      text = cat(seat->rank, '/', seat->size, ' ', seat->root, ' ', seat->job);
    }
  } catch (const Error& error) {
    text = error.what();
  }
  for (const char* name : kVariables) unsetenv(name);
  return text;
}

// Whether a membership begins so and goes on with a port below those of connections.
bool has_root(const std::string& text, const std::string& begin) {
  if (!text.starts_with(begin)) return false;
  const int port = std::atoi(text.c_str() + begin.size());
  return port >= 20000 && port < 32000;
}

TEST(Membership, ComesFromTheVariablesOfEachLauncher) {
  EXPECT_EQ(membership({}), "none");
  EXPECT_EQ(membership({{"TANDEM_RANK", "1"}, {"TANDEM_SIZE", "2"}, {"TANDEM_ROOT", "a:7"}}),
            "1/2 a:7 ");
  const std::string local = membership({{"OMPI_COMM_WORLD_RANK", "2"},
                                        {"OMPI_COMM_WORLD_SIZE", "3"},
                                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}});
  EXPECT_TRUE(has_root(local, "2/3 127.0.0.1:")) << local;
  EXPECT_EQ(membership({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"TANDEM_ROOT", "b:8"}}), "2/3 b:8 ");
  const std::string slurm = membership({{"SLURM_PROCID", "5"},
                                        {"SLURM_STEP_NUM_TASKS", "8"},
                                        {"SLURM_STEP_NODELIST", "node[07-09,12],login1"},
                                        {"SLURM_JOB_ID", "99"},
                                        {"SLURM_STEP_ID", "0"}});
  EXPECT_TRUE(has_root(slurm, "5/8 node07:")) << slurm;
  EXPECT_TRUE(slurm.ends_with(" slurm 99.0")) << slurm;
}

TEST(Membership, OwnVariablesComeFirst) {
  EXPECT_EQ(membership({{"TANDEM_RANK", "0"},
                        {"TANDEM_SIZE", "2"},
                        {"TANDEM_ROOT", "a:7"},
                        {"PMI_RANK", "3"},
                        {"PMI_SIZE", "4"}}),
            "0/2 a:7 ");
}

TEST(Membership, ABatchScriptIsNoRank) {
  EXPECT_EQ(membership({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "99"}}), "none");
}

TEST(Membership, SingletonsUnderALauncherAreRefused) {
  const std::string text = membership(
      {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}});
  EXPECT_TRUE(text.starts_with("world: SLURM_STEP_NUM_TASKS says 4 processes")) << text;
}

TEST(Membership, HalfOfTheOwnVariablesIsRefused) {
  EXPECT_TRUE(membership({{"TANDEM_RANK", "0"}}).starts_with("world: TANDEM_RANK is '0'"));
  EXPECT_TRUE(membership({{"TANDEM_SIZE", "2"}}).starts_with("world: TANDEM_RANK is ''"));
  EXPECT_TRUE(membership({{"TANDEM_RANK", "x"}, {"TANDEM_SIZE", "2"}}).starts_with("world: "));
}

std::string free_root() {
  return to_string(host::local_address(host::listen_on({"127.0.0.1", "0"})));
}

WorldOptions options_of(int rank, int size, const std::string& root) {
  WorldOptions options{.transport = "tcp", .timeout_ms = 10000, .workers = 1};
  options.membership = Membership{.rank = rank, .size = size, .root = root, .job = ""};
  return options;
}

TEST(WorldFromEnv, IsAWorldOfOneWithoutALauncher) {
  for (const char* name : kVariables) unsetenv(name);
  const auto world = World::from_env();
  EXPECT_EQ(world->rank(), 0);
  EXPECT_EQ(world->size(), 1);
  world->barrier();
}

// A process outlives its world: after a failure it joins the next one.
TEST(WorldFromEnv, ANewWorldFollowsOneThatFailed) {
  const std::string root = free_root();
  const auto live = [&root](int rank) -> std::string {
    std::string heard = "nothing";
    {
      const auto world = World::from_env(options_of(rank, 3, root));
      try {
        if (rank == 1) throw Error(ErrorKind::environment, "rank 1 has had enough");
        world->agree("what only two say", {});
      } catch (const Error& error) {
        heard = error.what();
      }
    }
    const auto world = World::from_env(options_of(rank, 3, root));
    world->agree("a field", {{"x", "1"}});
    return heard;
  };
  std::vector<std::string> heard(3);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back([&, rank] { heard[rank] = live(rank); });
    }
  }
  EXPECT_EQ(heard[1], "rank 1 has had enough");
  for (const int rank : {0, 2}) EXPECT_NE(heard[rank], "nothing");
}

}  // namespace
}  // namespace tandem
