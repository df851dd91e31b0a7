// SPDX-License-Identifier: Apache-2.0
// Kernels of a few verbs whose times can be worked out by hand.
#include "sim/timed.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/timeline.h"

namespace tandem::sim {
namespace {

using CubeKernel = std::function<void(CubeCore&)>;
using VectorKernel = std::function<void(VectorCore&)>;

constexpr Picoseconds kNs = 1000;

Device test_device() {
  Device device;
  device.name = "test";
  device.memory.l1_bytes = 0;
  return device;
}

Program program_of(int ranks, int blocks, const CubeKernel& cube, const VectorKernel& vector) {
  Launch launch;
  launch.blocks = blocks;
  for (BufferExtent& extent : launch.extents) extent.bytes = 1 << 20;
  launch.ub_bytes = 1 << 16;
  launch.epochs = 8;
  launch.cube = cube;
  launch.vector = vector;
  Program program;
  for (int rank = 0; rank < ranks; ++rank) program.ranks.push_back({launch, nullptr});
  program.launches = 1;
  program.values = false;
  return program;
}

Timeline run(const Device& device, int ranks, int blocks, const CubeKernel& cube,
             const VectorKernel& vector, const TimedOptions& options = {}) {
  Timeline timeline = TimedRun(program_of(ranks, blocks, cube, vector), device, options).run();
  EXPECT_TRUE(timeline.finished);
  return timeline;
}

void nothing(Core&) {}

View window(int rank, std::int64_t offset, std::int64_t bytes) {
  return {rank, Buffer::window_data, offset, 1, bytes, bytes};
}
View staging(int rank, std::int64_t offset, std::int64_t bytes) {
  return {rank, Buffer::staging, offset, 1, bytes, bytes};
}

Device link_device() {
  Device device = test_device();
  device.costs.link_mb_s = 50'000;  // 20 ps a byte
  device.costs.link_latency_ns = 3000;
  device.costs.post_ns = 300;
  device.costs.drain_ns = 500;
  return device;
}

TEST(TimedTransfer, TakesItsBytesAndALatency) {
  const Device device = link_device();
  const auto vector = [](VectorCore& core) {
    if (core.rank() != 0) return;
    core.channel(1).write_nbi(window(1, 0, 100'000), staging(0, 0, 100'000));
    core.channel(1).drain();
  };
  const Timeline timeline = run(device, 2, 1, nothing, vector);
  // post + bytes / bandwidth + latency + drain
  EXPECT_EQ(timeline.makespan, (300 + 2000 + 3000 + 500) * kNs);
  EXPECT_EQ(timeline.ranks[0].sent_bytes, 100'000);
  EXPECT_EQ(timeline.ranks[1].end, 0);
}

TEST(TimedTransfer, AChannelIsSerialButItsLatenciesOverlap) {
  const auto vector = [](VectorCore& core) {
    if (core.rank() != 0) return;
    for (int i = 0; i < 4; ++i) {
      core.channel(1).write_nbi(window(1, 0, 100'000), staging(0, 0, 100'000));
    }
    core.channel(1).drain();
  };
  EXPECT_EQ(run(link_device(), 2, 1, nothing, vector).makespan,
            (300 + 4 * 2000 + 3000 + 500) * kNs);
}

TEST(TimedTransfer, TwoCoresOfARankShareTheLinkToAPeer) {
  const auto vector = [](VectorCore& core) {
    if (core.rank() != 0) return;
    core.channel(1).write_nbi(window(1, 0, 100'000), staging(0, 0, 100'000));
    core.channel(1).drain();
  };
  EXPECT_EQ(run(link_device(), 2, 2, nothing, vector).makespan,
            (300 + 2 * 2000 + 3000 + 500) * kNs);
}

TEST(TimedTransfer, LinksToTwoPeersAreIndependentUnlessTheEgressIsNarrow) {
  const auto vector = [](VectorCore& core) {
    if (core.rank() != 0) return;
    const int peer = core.block() + 1;
    core.channel(peer).write_nbi(window(peer, 0, 100'000), staging(0, 0, 100'000));
    core.channel(peer).drain();
  };
  Device device = link_device();
  EXPECT_EQ(run(device, 3, 2, nothing, vector).makespan, (300 + 2000 + 3000 + 500) * kNs);
  device.costs.egress_mb_s = 50'000;
  EXPECT_EQ(run(device, 3, 2, nothing, vector).makespan, (300 + 4000 + 3000 + 500) * kNs);
}

TEST(TimedTransfer, OneCoreSendsToItsPeersInTurnWhereTheDeviceSaysSo) {
  const auto vector = [](VectorCore& core) {
    if (core.rank() != 0) return;
    for (int peer = 1; peer < 5; ++peer) {
      core.channel(peer).write_nbi(window(peer, 0, 100'000), staging(0, 0, 100'000));
    }
    for (int peer = 1; peer < 5; ++peer) core.channel(peer).drain();
  };
  Device device = link_device();
  device.costs.post_ns = 0;
  device.costs.drain_ns = 0;
  EXPECT_EQ(run(device, 5, 1, nothing, vector).makespan, (2000 + 3000) * kNs);
  device.costs.core_send_mb_s = 50'000;
  EXPECT_EQ(run(device, 5, 1, nothing, vector).makespan, (4 * 2000 + 3000) * kNs);
}

TEST(TimedTransfer, AReadPaysTheWayTwice) {
  const auto vector = [](VectorCore& core) {
    if (core.rank() != 0) return;
    core.channel(1).read_nbi(staging(0, 0, 100'000), window(1, 0, 100'000));
    core.channel(1).drain();
  };
  EXPECT_EQ(run(link_device(), 2, 1, nothing, vector).makespan,
            (300 + 2000 + 2 * 3000 + 500) * kNs);
}

TEST(TimedTransfer, BothMemoriesCanBeWhatHoldsItBack) {
  const auto vector = [](VectorCore& core) {
    if (core.rank() != 0) return;
    core.channel(1).write_nbi(window(1, 0, 100'000), staging(0, 0, 100'000));
    core.channel(1).drain();
  };
  Device device = link_device();
  device.costs.hbm_mb_s = 25'000;
  EXPECT_EQ(run(device, 2, 1, nothing, vector).makespan, (300 + 4000 + 3000 + 500) * kNs);
}

TEST(TimedSync, AFlagIsSeenAfterItsLatency) {
  Device device = test_device();
  device.costs.flag_ns = 700;
  device.costs.call_ns = 40;
  const auto cube = [](CubeCore& core) { core.set_flag(Pipe::fix, FlagId{2}); };
  const auto vector = [](VectorCore& core) { core.wait_flag(FlagId{2}); };
  const Timeline timeline = run(device, 1, 1, cube, vector);
  EXPECT_EQ(timeline.makespan, (40 + 700) * kNs);
  ASSERT_EQ(timeline.waits.size(), 1u);
  EXPECT_EQ(timeline.waits[0].cause, Cause::flag);
  EXPECT_EQ(timeline.waits[0].begin, 40 * kNs);
  EXPECT_EQ(timeline.waits[0].end, 740 * kNs);
}

TEST(TimedSync, SyncAllWaitsForTheLastAndPaysOnce) {
  Device device = test_device();
  device.costs.sync_all_ns = 1000;
  device.costs.parameters_ns = 5000;
  const auto vector = [](VectorCore& core) {
    if (core.block() == 2) core.scalar(ScalarWork::product_parameters);
    core.sync_all();
  };
  const Timeline timeline = run(device, 1, 4, nothing, vector);
  EXPECT_EQ(timeline.makespan, 6000 * kNs);
  int waits = 0;
  for (const TimelineWait& wait : timeline.waits) {
    EXPECT_EQ(wait.cause, Cause::sync_all);
    waits += wait.end - wait.begin == 6000 * kNs ? 1 : 0;
  }
  EXPECT_EQ(waits, 3);
  EXPECT_EQ(timeline.ranks[0].parameter_builds, 1);
}

TEST(TimedSync, AnEpochArrivesAfterItsLatency) {
  Device device = test_device();
  device.costs.epoch_ns = 2000;
  device.costs.epoch_own_ns = 300;
  const auto vector = [](VectorCore& core) {
    const int peer = 1 - core.rank();
    core.store_epoch(peer, {EpochSlot::Kind::arrived, core.rank()}, 1);
    core.wait_epoch({EpochSlot::Kind::arrived, peer}, 1);
    core.store_epoch(core.rank(), {EpochSlot::Kind::core, 0}, 1);
    core.wait_epoch({EpochSlot::Kind::core, 0}, 1);
  };
  EXPECT_EQ(run(device, 2, 1, nothing, vector).makespan, 2300 * kNs);
}

TEST(TimedSync, ALateRankHoldsUpItsPeersAndNotMore) {
  Device device = test_device();
  device.costs.epoch_ns = 2000;
  const auto vector = [](VectorCore& core) {
    const int peer = 1 - core.rank();
    core.store_epoch(peer, {EpochSlot::Kind::arrived, core.rank()}, 1);
    core.wait_epoch({EpochSlot::Kind::arrived, peer}, 1);
  };
  TimedOptions options;
  options.late_start = {0, 9000 * kNs};
  const Timeline timeline = run(device, 2, 1, nothing, vector, options);
  EXPECT_EQ(timeline.ranks[0].end, 11'000 * kNs);
  EXPECT_EQ(timeline.ranks[1].end, 9000 * kNs);
}

UbTensor tensor(std::int64_t offset, std::int64_t columns, std::int64_t element) {
  return {offset, 1, columns, columns * element, element};
}

TEST(TimedPipes, EventsOverlapLoadsWithVectorWork) {
  Device device = test_device();
  device.costs.clock_mhz = 1000;
  device.costs.vector_elements = 1;
  device.costs.mte2_mb_s = 1000;  // a byte a nanosecond
  // Eight passes: a load of 2000 ns, then 2 · 500 ns of vector work, two buffers.
  const auto vector = [](VectorCore& core) {
    for (int pass = 0; pass < 8; ++pass) {
      const int slot = pass % 2;
      if (pass >= 2) core.wait_event(EventKind::v_mte2, slot);
      core.load(tensor(slot * 4096, 1000, 2), staging(0, 0, 2000));
      core.set_event(EventKind::mte2_v, slot);
      core.wait_event(EventKind::mte2_v, slot);
      core.accumulate(tensor(32768, 500, 4), tensor(16384, 500, 4), tensor(slot * 4096, 500, 4),
                      Accumulate::init);
      core.set_event(EventKind::v_mte2, slot);
    }
    core.wait_event(EventKind::v_mte2, 0);
    core.wait_event(EventKind::v_mte2, 1);
    core.pipe_barrier(Pipe::all);
  };
  const Timeline timeline = run(device, 1, 1, nothing, vector);
  // Loads back to back, the last one's vector work behind them.
  EXPECT_EQ(timeline.makespan, (8 * 2000 + 1000) * kNs);
}

struct TileKernel {
  int tiles = 1;
  std::int64_t k = 1024;
  void operator()(CubeCore& core) const {
    for (int tile = 0; tile < tiles; ++tile) {
      const int slot = tile % 2;
      const Fragment a{{core.rank(), Buffer::a, 0, 128, k, k},
                       {core.rank(), Buffer::a_scale, 0, 128, k / 32, k / 32}};
      if (tile >= 2) core.wait_event(EventKind::mte1_mte2, slot);
      core.load(slot, {&a, 1}, {0, {0, 128}});
      core.set_event(EventKind::mte2_mte1, slot);
      core.wait_event(EventKind::mte2_mte1, slot);
      core.matmul(slot, 0, Accumulate::init);
      core.set_event(EventKind::mte1_mte2, slot);
    }
    core.wait_event(EventKind::mte1_mte2, 0);
    if (tiles > 1) core.wait_event(EventKind::mte1_mte2, 1);
    core.pipe_barrier(Pipe::all);
  }
};

Device cube_device() {
  Device device = test_device();
  device.costs.clock_mhz = 1000;
  device.costs.cube_m = 16;
  device.costs.cube_n = 16;
  device.costs.cube_k = 32;
  device.costs.steps_per_kcycle = 1000;
  return device;
}

TEST(TimedProduct, TakesItsStepsAndTheFillOfTheUnit) {
  Device device = cube_device();
  device.costs.product_start_ns = 200;
  // 8 · 8 · 32 steps of a nanosecond.
  EXPECT_EQ(run(device, 1, 1, TileKernel{}, nothing).makespan, (2048 + 200) * kNs);
}

TEST(TimedProduct, RowsBeyondAStepCountAsAWholeOne) {
  Device device = cube_device();
  device.costs.cube_k = 1000;  // 1024 are two steps of 1000
  EXPECT_EQ(run(device, 1, 1, TileKernel{}, nothing).makespan, 8 * 8 * 2 * kNs);
}

TEST(TimedProduct, TheNextLoadOverlapsWithTheProduct) {
  Device device = cube_device();
  const std::int64_t bytes = 2 * 128 * (1024 + 32);  // A and B over the whole K, with scales
  device.costs.mte2_mb_s = 1000 * bytes / 2048;      // a load takes 2048 ns, as a product does
  const Timeline timeline = run(device, 1, 1, TileKernel{.tiles = 6}, nothing);
  EXPECT_NEAR(static_cast<double>(timeline.makespan), 7.0 * 2048 * kNs, 7.0 * 20 * kNs);
  EXPECT_EQ(timeline.ranks[0].mte2_bytes, 6 * bytes);
}

TEST(TimedProduct, BeginsWhenHalfOfL1IsFullAndEndsBehindTheLastByte) {
  Device device = cube_device();
  const std::int64_t bytes = 2 * 128 * (1024 + 32);
  device.memory.l1_bytes = bytes / 2;            // half of it: a quarter of the load
  device.costs.mte2_mb_s = 1000 * bytes / 8192;  // a load takes 8192 ns, its product 2048
  const Timeline timeline = run(device, 1, 1, TileKernel{}, nothing);
  // The whole load, and the last quarter of the product.
  EXPECT_NEAR(static_cast<double>(timeline.makespan), (8192.0 + 512) * kNs, 60.0 * kNs);
  bool stood = false;
  for (const TimelineWait& wait : timeline.waits) {
    const TimelineTrack& track = timeline.tracks[wait.track];
    stood = stood || (track.pipe == "M" && wait.cause == Cause::data && wait.end > 8000 * kNs);
  }
  EXPECT_TRUE(stood);
}

TEST(TimedProduct, CoresOfARankShareItsMemory) {
  Device device = cube_device();
  const std::int64_t bytes = 2 * 128 * (1024 + 32);
  device.costs.steps_per_kcycle = 0;  // products take no time
  device.costs.mte2_mb_s = 1'000'000;
  device.costs.hbm_mb_s = 1000;  // a byte a nanosecond
  EXPECT_EQ(run(device, 1, 1, TileKernel{}, nothing).makespan, bytes * kNs);
  EXPECT_EQ(run(device, 1, 4, TileKernel{}, nothing).makespan, 4 * bytes * kNs);
  EXPECT_EQ(run(device, 2, 2, TileKernel{}, nothing).makespan, 2 * bytes * kNs);
}

TEST(TimedProduct, WhatIsInTheSharedCacheDoesNotReachTheMemory) {
  Device device = cube_device();
  const std::int64_t bytes = 2 * 128 * (1024 + 32);
  device.costs.steps_per_kcycle = 0;
  device.costs.mte2_mb_s = 1'000'000;
  device.costs.hbm_mb_s = 1000;
  device.costs.l2_bytes = 1 << 30;
  device.costs.l2_mb_s = 1'000'000'000;
  // All cores read the same tile: from memory once.
  const Timeline timeline = run(device, 1, 4, TileKernel{}, nothing);
  EXPECT_EQ(timeline.ranks[0].mte2_bytes, 4 * bytes);
  EXPECT_EQ(timeline.ranks[0].hbm_bytes, bytes);
  EXPECT_NEAR(static_cast<double>(timeline.makespan), static_cast<double>(bytes * kNs),
              1e-3 * static_cast<double>(bytes * kNs));
}

TEST(TimedRunTest, AFullQueueStopsTheScalarStream) {
  Device device = cube_device();
  const Timeline timeline = run(device, 1, 1, TileKernel{.tiles = 60}, nothing);
  bool full = false;
  for (const TimelineWait& wait : timeline.waits) full = full || wait.cause == Cause::queue;
  EXPECT_TRUE(full);
}

TEST(TimedRunTest, CoresThatAreFreeTakeNoTime) {
  Device device = cube_device();
  device.costs.call_ns = 40;
  device.costs.sync_all_ns = 1000;
  const auto vector = [](VectorCore& core) { core.sync_all(); };
  TimedOptions options;
  const Picoseconds both = run(device, 1, 2, TileKernel{}, vector, options).makespan;
  options.free = FreeCores::vector;
  const Picoseconds cube = run(device, 1, 2, TileKernel{}, vector, options).makespan;
  options.free = FreeCores::cube;
  const Picoseconds vectors = run(device, 1, 2, TileKernel{}, vector, options).makespan;
  EXPECT_EQ(both, std::max(cube, vectors));
  EXPECT_GT(cube, 2048 * kNs);
  // Two calls until the flag is raised; the third, that takes it, runs meanwhile.
  EXPECT_EQ(vectors, (40 + 40 + 1000) * kNs);
}

TEST(TimedRunTest, ARunThatCannotGoOnSaysSo) {
  const auto vector = [](VectorCore& core) { core.wait_flag(FlagId{3}); };
  TimedRun stuck(program_of(1, 1, nothing, vector), test_device(), {});
  EXPECT_FALSE(stuck.run().finished);
}

TEST(TimedRunTest, SharedWorkersRunOneOfTheirCoresAtATime) {
  Device device = cube_device();
  device.shared_workers = true;
  TimedOptions options;
  options.workers = 1;
  const Picoseconds one = run(device, 1, 4, TileKernel{.tiles = 3}, nothing, options).makespan;
  EXPECT_EQ(one, 4 * 3 * 2048 * kNs);
  options.workers = 2;
  EXPECT_EQ(run(device, 1, 4, TileKernel{.tiles = 3}, nothing, options).makespan, one / 2);
  // Two ranks of two workers on two processors.
  device.costs.processors = 2;
  EXPECT_EQ(run(device, 2, 4, TileKernel{.tiles = 3}, nothing, options).makespan, one);
}

TEST(TimedRunTest, AVectorCoreWaitsForAPauseOfTheProductOnly) {
  Device device = cube_device();
  device.shared_workers = true;
  device.costs.pause_ns = 100;
  device.costs.convert_elements_us = 1000;
  TimedOptions options;
  options.workers = 1;
  const auto cube = [](CubeCore& core) {
    core.set_flag(Pipe::m, FlagId{1});
    TileKernel{}(core);
  };
  const auto vector = [](VectorCore& core) {
    core.wait_flag(FlagId{1});
    core.convert(tensor(0, 500, 4), tensor(8192, 500, 4));
  };
  Device late = device;
  late.costs.flag_ns = 50;
  const Timeline timeline = run(late, 1, 1, cube, vector, options);
  EXPECT_EQ(timeline.makespan, (2048 + 500) * kNs);
  for (const TimelineSlice& slice : timeline.slices) {
    if (slice.name != "convert") continue;
    EXPECT_EQ(slice.begin, 100 * kNs);
    EXPECT_EQ(slice.end, 600 * kNs);
  }
}

TEST(CriticalPath, CoversTheWholeRunWithoutGaps) {
  Device device = link_device();
  device.costs.flag_ns = 200;
  device.costs.clock_mhz = 1000;
  device.costs.cube_m = 16;
  device.costs.cube_n = 16;
  device.costs.cube_k = 32;
  device.costs.steps_per_kcycle = 1000;
  const auto cube = [](CubeCore& core) {
    TileKernel{}(core);
    core.set_flag(Pipe::m, FlagId{1});
  };
  const auto vector = [](VectorCore& core) {
    core.wait_flag(FlagId{1});
    core.channel(1 - core.rank())
        .write_nbi(window(1 - core.rank(), 0, 100'000), staging(core.rank(), 0, 100'000));
    core.channel(1 - core.rank()).drain();
  };
  const Timeline timeline = run(device, 2, 1, cube, vector);
  EXPECT_EQ(timeline.makespan, (2048 + 200 + 300 + 2000 + 3000 + 500) * kNs);
  const auto path = critical_path(timeline);
  Picoseconds time = 0;
  std::map<std::string_view, Picoseconds> shares;
  for (const PathStep& step : path) {
    EXPECT_EQ(step.begin, time);
    EXPECT_GT(step.end, step.begin);
    time = step.end;
  }
  EXPECT_EQ(time, timeline.makespan);
  for (const PathShare& share : path_shares(timeline, path)) {
    shares[share.pipe == "latency" ? share.what : share.pipe] += share.time;
  }
  EXPECT_EQ(shares["M"], 2048 * kNs);
  EXPECT_EQ(shares["flag"], 200 * kNs);
  EXPECT_EQ(shares["channel"], 2000 * kNs);
  EXPECT_EQ(shares["drain"], 3000 * kNs);
  EXPECT_EQ(shares["S"], (300 + 500) * kNs);
}

TEST(Use, ACoreWaitsForPeersOnlyWhileItHasProductsLeft) {
  Device device = cube_device();
  device.costs.parameters_ns = 7000;
  const auto cube = [](CubeCore& core) {
    core.gate(Pipe::mte2, FlagId{1});
    TileKernel{}(core);
    core.gate(Pipe::mte2, FlagId{2});
    core.pipe_barrier(Pipe::all);
  };
  const auto vector = [](VectorCore& core) {
    core.scalar(ScalarWork::product_parameters);
    core.set_flag(Pipe::mte3, FlagId{1});
    core.scalar(ScalarWork::product_parameters);
    core.set_flag(Pipe::mte3, FlagId{2});
  };
  const Timeline timeline = run(device, 1, 1, cube, vector);
  EXPECT_EQ(timeline.makespan, 14'000 * kNs);
  const RankUse use = use_of(timeline, 1)[0];
  EXPECT_EQ(use.waits_for_peers, 7000 * kNs);
  EXPECT_EQ(use.tail, (7000 - 2048) * kNs);
}

}  // namespace
}  // namespace tandem::sim
