// SPDX-License-Identifier: Apache-2.0
// The gate of the machine interface: a core's calls (name, place, operands) are the same on the
// host machine, in virtual time and on a machine that only takes notes. A kernel cannot ask where
// it runs.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "gemm/tile_product.h"
#include "host/launch_site.h"
#include "ops/test_balance.h"
#include "ops/test_bytes.h"
#include "ops/test_problem.h"
#include "report/device_json.h"
#include "sim/machine.h"
#include "tandem/error.h"
#include "tandem/world.h"
#include "world_impl.h"

namespace tandem {
namespace {

constexpr int kRanks = 3;
constexpr int kWorkers = 2;

// Local buffers and weights of one rank, all zero: what is computed does not matter here.
struct RankMemory {
  RankMemory(const Plan& plan, int rank) {
    for (Buffer buffer : {Buffer::a, Buffer::a_scale, Buffer::bias, Buffer::c, Buffer::staging}) {
      auto& bytes = buffers[static_cast<std::size_t>(buffer)];
      bytes.resize(extent_of(plan, rank, buffer));
      bindings.local[static_cast<std::size_t>(buffer)] = bytes.data();
    }
    const std::int64_t columns = plan.columns_of(rank).count;
    codes.resize(columns * plan.problem.k);
    scales.resize(columns * scale_row_bytes(plan.problem.k));
    std::vector<MxMatrix> segments;
    for (int segment = 0; segment < plan.k_segments(); ++segment) {
      const Slice k = plan.k_of(segment);
      segments.push_back({.format = plan.problem.dtype_b,
                          .rows = columns,
                          .k = k.count,
                          .codes = codes.data() + k.first,
                          .pitch = plan.problem.k,
                          .scales = scales.data() + k.first / 32,
                          .scale_pitch = scale_row_bytes(plan.problem.k)});
    }
    weights = std::make_unique<gemm::PackedWeights>(segments);
    bindings.weights = weights.get();
  }
  std::array<std::vector<std::byte>, kBufferCount> buffers;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  std::unique_ptr<gemm::PackedWeights> weights;
  host::Bindings bindings;
};

Launch host_launch(const Plan& plan, int rank) {
  Launch launch = launch_of(plan);
  launch.numerics = {plan.problem.dtype_a, plan.problem.dtype_b, plan.order};
  launch.ub_bytes = plan.reduction.ub_bytes;
  launch.epochs = plan.epochs;
  for (int buffer = 0; buffer < kBufferCount; ++buffer) {
    launch.extents[buffer].bytes = extent_of(plan, rank, static_cast<Buffer>(buffer));
    launch.extents[buffer].type = plan.problem.dtype_c;
    launch.extents[buffer].in_window = is_lent(plan, static_cast<Buffer>(buffer));
  }
  for (const Buffer scale : {Buffer::window_scale, Buffer::a_scale}) {
    launch.extents[static_cast<std::size_t>(scale)].window_offset = plan.window_scale_offset;
  }
  return launch;
}

std::string run_rank(World& world, const Plan& plan, RankRecording& noted) {
  host::HostRank& rank = *world.impl().rank;
  RankMemory memory(plan, rank.rank());
  const host::Windows windows = rank.allocate_windows(plan.window_bytes);
  {
    const Launch launch = recorded(host_launch(plan, rank.rank()), rank.rank(), noted);
    host::LaunchSite site(rank, *world.impl().pool, launch, windows);
    site.run(memory.bindings);
  }
  rank.free_windows(windows);
  return "";
}

// The same launch in virtual time; values do not matter.
std::vector<RankRecording> simulate(const Plan& plan) {
  std::vector<RankRecording> noted(kRanks);
  sim::Program program;
  program.launches = 1;
  program.values = false;
  for (int rank = 0; rank < kRanks; ++rank) {
    program.ranks.push_back({recorded(host_launch(plan, rank), rank, noted[rank]), nullptr});
  }
  sim::Machine machine(program, {});
  EXPECT_TRUE(machine.run(nullptr));
  return noted;
}

class MachineTrace : public testing::TestWithParam<OperatorKind> {
 protected:
  void expect_equal(const Problem& problem) {
    SCOPED_TRACE(describe(problem));
    const Plan plan = make_plan(problem, load_device("host"));
    std::vector<RankRecording> noted(kRanks);
    WorldOptions options;
    options.ranks = kRanks;
    options.transport = "threads";
    options.workers = kWorkers;
    options.timeout_ms = 10000;
    const auto outcomes = World::spawn(
        options, [&](World& world) { return run_rank(world, plan, noted[world.rank()]); });
    for (const RankOutcome& outcome : outcomes) ASSERT_EQ(outcome.message, "");
    const auto simulated = simulate(plan);
    const auto notes = record_plan(plan);
    for (int rank = 0; rank < kRanks; ++rank) {
      compare(noted[rank], notes[rank], "on the host");
      compare(simulated[rank], notes[rank], "in virtual time");
    }
  }

 private:
  static void compare(const RankRecording& seen, const RankRecording& notes, const char* where) {
    ASSERT_EQ(seen.size(), notes.size());
    for (std::size_t core = 0; core < notes.size(); ++core) {
      ASSERT_FALSE(notes[core].verbs.empty());
      const auto at = first_difference(seen[core].verbs, notes[core].verbs);
      if (!at) continue;
      const auto text = [&](const VerbList& verbs) {
        return *at < verbs.size() ? to_text(verbs[*at], SiteText::file_and_line) : "(end)";
      };
      FAIL() << name_of(notes[core]) << ", call " << *at << ": " << text(seen[core].verbs) << " "
             << where << ", " << text(notes[core].verbs) << " in the notes";
    }
  }
};

TEST_P(MachineTrace, CallsAreTheSameOnAllMachines) {
  Problem problem = problem_of(GetParam(), kRanks, {.m = 50, .n = 40, .k = 200});
  problem.tiles = 17;
  problem.blocks = 5;
  expect_equal(problem);
}

TEST_P(MachineTrace, CallsOfVariantsAreTheSameOnAllMachines) {
  Problem problem = problem_of(GetParam(), kRanks, {.m = 50, .n = 300, .k = 130});
  problem.tiles = 4;
  problem.blocks = 2;
  problem.bias = true;
  problem.flags = FlagNumbering::round;
  switch (GetParam()) {
    case OperatorKind::all_to_all_matmul:
      problem.local_matmul = 1;
      break;
    case OperatorKind::all_gather_matmul:
    case OperatorKind::matmul_all_gather:
      problem.slots = 1;
      break;
    case OperatorKind::matmul_reduce_scatter:
      problem.cores = CoreMapping::shared;
      problem.fence = FenceJobs::first;
      break;
  }
  expect_equal(problem);
}

TEST_P(MachineTrace, CallsWithoutCopiesAreTheSameOnAllMachines) {
  Problem problem = problem_of(GetParam(), kRanks, {.m = 50, .n = 300, .k = 130});
  problem.tiles = 4;
  problem.blocks = 3;
  problem.transfer = Transfer::direct;
  if (GetParam() == OperatorKind::matmul_all_gather) {  // its result is the copy
    EXPECT_THROW(make_plan(problem, load_device("host")), Error);
    return;
  }
  expect_equal(problem);
}

std::string short_name(const testing::TestParamInfo<OperatorKind>& info) {
  std::string name(to_string(info.param));
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Operators, MachineTrace,
                         testing::Values(OperatorKind::all_to_all_matmul,
                                         OperatorKind::all_gather_matmul,
                                         OperatorKind::matmul_all_gather,
                                         OperatorKind::matmul_reduce_scatter),
                         short_name);

}  // namespace
}  // namespace tandem
