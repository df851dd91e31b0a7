// SPDX-License-Identifier: Apache-2.0
#include "sim/worker_cost.h"

#include <gtest/gtest.h>

#include "sim/timed.h"

namespace tandem::sim {
namespace {

constexpr Picoseconds kNs = 1000;

DeviceCosts panel_costs() {
  DeviceCosts costs;
  costs.clock_mhz = 1000;
  costs.cube_m = 6;
  costs.cube_n = 16;
  costs.cube_k = 1;
  costs.steps_per_kcycle = 500;  // 2 ns a step
  return costs;
}

LoadShape shape(std::int64_t rows, Slice columns, std::int64_t k) {
  LoadShape made;
  made.rows = rows;
  made.columns = columns;
  made.k = k;
  return made;
}

TEST(WorkerCosts, PanelsThatATileTouchesCountWhole) {
  DeviceCosts costs = panel_costs();
  costs.product_start_ns = 100;
  const WorkerCosts workers(costs, 1);
  const auto time = [&](std::int64_t rows, Slice columns) {
    return workers.product(shape(rows, columns, 10), SumOrder::panel);
  };
  EXPECT_EQ(time(6, {0, 16}), (100 + 20) * kNs);
  EXPECT_EQ(time(7, {0, 16}), (100 + 40) * kNs);
  EXPECT_EQ(time(6, {8, 16}), (100 + 40) * kNs);
  EXPECT_EQ(time(0, {0, 16}), 100 * kNs);
}

// time = ⌈rows/8⌉ · columns · k / lane_mb_s + rows · columns · k / lane_products_us
TEST(WorkerCosts, LaneOrderReadsWeightsOnceForEightRows) {
  DeviceCosts costs = panel_costs();
  costs.lane_mb_s = 1000;         // a nanosecond a code
  costs.lane_products_us = 2000;  // half of one a product
  const WorkerCosts workers(costs, 1);
  for (const auto& [rows, ns] : {std::pair{1, 15}, {4, 30}, {8, 50}, {9, 65}}) {
    EXPECT_EQ(workers.product(shape(rows, {0, 2}, 5), SumOrder::lane), ns * kNs) << rows;
  }
}

TEST(WorkerCosts, WeightsThatWereUsedLatelyAreThere) {
  DeviceCosts costs = panel_costs();
  costs.mte2_mb_s = 2000;  // two bytes a nanosecond: one element
  costs.l2_bytes = 3 * 100 * kPackedWeightBytes;
  WorkerCosts workers(costs, 2);
  const auto load = [&](std::int64_t first, int rank = 0) {
    Op op;
    op.b = {0, {first, 10}};
    return workers.weights(op, shape(6, {first, 10}, 10), rank);
  };
  EXPECT_EQ(load(0), 100 * kNs);
  EXPECT_EQ(load(0), 0);
  EXPECT_EQ(load(0, 1), 100 * kNs);  // another rank has its own
  for (const std::int64_t first : {10, 20, 30}) EXPECT_EQ(load(first), 100 * kNs);
  EXPECT_EQ(load(0), 100 * kNs);  // the last three pushed it out
}

TEST(WorkerCosts, OwnRowsAreColdOnce) {
  DeviceCosts costs = panel_costs();
  costs.rows_start_ns = 1;
  costs.rows_cold_ns = 4;
  WorkerCosts workers(costs, 1);
  const View own{0, Buffer::a, 0, 2, 512, 512};
  const View window{0, Buffer::window_data, 0, 2, 512, 512};
  EXPECT_EQ(workers.decode({{own, window}}), (5 + 1) * kNs);
  EXPECT_EQ(workers.decode({{own, window}}), (1 + 1) * kNs);
}

// A launch of two blocks on one worker, each with products of the same rows.
Picoseconds makespan(const Device& device, const std::function<void(CubeCore&)>& cube,
                     const std::function<void(VectorCore&)>& vector) {
  Launch launch;
  launch.blocks = 2;
  for (BufferExtent& extent : launch.extents) extent.bytes = 1 << 20;
  launch.cube = cube;
  launch.vector = vector;
  Program program;
  program.ranks.push_back({launch, nullptr});
  program.launches = 1;
  program.values = false;
  TimedOptions options;
  options.workers = 1;
  const Timeline timeline = TimedRun(std::move(program), device, options).run();
  EXPECT_TRUE(timeline.finished);
  return timeline.makespan;
}

void multiply_rows(CubeCore& core, int times) {
  const Fragment a{{core.rank(), Buffer::a, 0, 1, 1024, 1024},
                   {core.rank(), Buffer::a_scale, 0, 1, 32, 32}};
  for (int i = 0; i < times; ++i) {
    core.load(0, {&a, 1}, {0, {0, 16}});
    core.matmul(0, 0, Accumulate::init);
  }
}

TEST(SharedWorkers, DecodeRowsAgainForAnotherCoreAndBehindAFlag) {
  Device device;
  device.shared_workers = true;
  device.costs = panel_costs();
  device.costs.rows_start_ns = 100;
  constexpr Picoseconds kProduct = 1024 * 2 * kNs;
  // Once for each core: it goes on with its own rows as long as it can.
  EXPECT_EQ(makespan(
                device, [](CubeCore& core) { multiply_rows(core, 5); }, [](VectorCore&) {}),
            10 * kProduct + 2 * 100 * kNs);
  // What a flag announces may be new rows at the same place.
  const auto waits = [](CubeCore& core) {
    multiply_rows(core, 1);
    core.wait_flag(FlagId{0});
    multiply_rows(core, 1);
  };
  const auto tells = [](VectorCore& core) { core.set_flag(Pipe::mte3, FlagId{0}); };
  EXPECT_EQ(makespan(device, waits, tells), 4 * kProduct + 4 * 100 * kNs);
}

TEST(SharedWorkers, ACubeCoreThatSetsAFlagLetsTheOthersGoFirst) {
  Device device;
  device.shared_workers = true;
  device.costs = panel_costs();
  std::vector<int> order;
  const auto cube = [&order](CubeCore& core) {
    for (int round = 0; round < 2; ++round) {
      multiply_rows(core, 2);
      order.push_back(core.block());
      core.set_flag(Pipe::fix, FlagId{0});
    }
  };
  const auto vector = [](VectorCore& core) {
    core.wait_flag(FlagId{0});
    core.wait_flag(FlagId{0});
  };
  makespan(device, cube, vector);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 0, 1}));
}

}  // namespace
}  // namespace tandem::sim
