// SPDX-License-Identifier: Apache-2.0
// What must hold between runs that differ in one thing.
#include <gtest/gtest.h>

#include <algorithm>

#include "launches.h"
#include "machine/forwarding.h"
#include "ops/registry.h"
#include "report/device_json.h"
#include "sim/timed.h"
#include "simulating/measure.h"

namespace tandem {
namespace {

constexpr Picoseconds kUs = 1'000'000;

Problem problem_of(OperatorKind op, int ranks, std::int64_t m, std::int64_t n, std::int64_t k,
                   std::int64_t tiles) {
  Problem problem;
  problem.op = op;
  problem.ranks = ranks;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.tiles = tiles;
  return problem;
}

Problem scatter(std::int64_t tiles) {
  return problem_of(OperatorKind::matmul_reduce_scatter, 4, 4096, 2048, 2048, tiles);
}

Picoseconds time_of(const Plan& plan, const MeasureOptions& options = {}) {
  return run_timed(plan, options).makespan;
}

double ratio(Picoseconds a, Picoseconds b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

TEST(Relations, TransfersByOneCoreTakeAsLongAsThoseOfAllCoresTogether) {
  Plan plan = make_plan(problem_of(OperatorKind::all_gather_matmul, 8, 2048, 256, 4096, 2),
                        load_device("ascend950pr"));
  const Measurement all = measure(std::make_shared<Plan>(plan), {});
  plan.jobs = 1;
  const Measurement one = measure(std::make_shared<Plan>(plan), {});
  // 7 of 8 targets are peers; latencies and barriers stay the same.
  EXPECT_GT(ratio(one.transfers, all.transfers), 5.5);
  EXPECT_LT(ratio(one.transfers, all.transfers), 7.1);
  EXPECT_EQ(one.timeline.ranks[0].sent_bytes, all.timeline.ranks[0].sent_bytes);
}

TEST(Relations, ARowWiseReductionSynchronisesForEveryRow) {
  const Device device = load_device("ascend950pr");
  Problem problem = scatter(4);
  const Plan batched = make_plan(problem, device);
  problem.reduction = ReductionForm::rows;
  const Plan rows = make_plan(problem, device);
  ASSERT_EQ(rows.reduction.batch_rows, 1);
  ASSERT_GT(batched.reduction.batch_rows, 1);
  // Two events of each source, two of the result: in each pass over rows and segments.
  const auto passes = [](const Plan& plan) {
    std::int64_t count = 0;
    for (int round = 0; round < plan.rounds(); ++round) {
      const std::int64_t share = plan.comm[0].rows(0, round).count / plan.reduction.cores;
      const std::int64_t more = plan.comm[0].rows(0, round).count % plan.reduction.cores;
      const std::int64_t batch = plan.reduction.batch_rows;
      count +=
          plan.reduction.segments * (more * ((share + 1 + batch - 1) / batch) +
                                     (plan.reduction.cores - more) * ((share + batch - 1) / batch));
    }
    return count;
  };
  const std::int64_t per_pass = 2 * problem.ranks + 2;
  const Timeline slow = run_timed(rows, {});
  const Timeline fast = run_timed(batched, {});
  EXPECT_EQ(slow.ranks[0].syncs - fast.ranks[0].syncs, per_pass * (passes(rows) - passes(batched)));
  EXPECT_EQ(passes(rows), 1024 * rows.reduction.segments);
  EXPECT_GE(slow.makespan, fast.makespan);
}

// A cube core that tells its vector core of the others' rows only when its own are stored too.
class LateFlag final : public ForwardingCube {
 public:
  LateFlag(CubeCore& core, const Plan& plan) : ForwardingCube(core), plan_(plan) {}
  void set_flag(Pipe pipe, FlagId id, Site site) override {
    if (id == FlagId{plan_.flags.own.at(0)}) {
      core_.set_flag(pipe, FlagId{plan_.flags.ready.at(0)}, site);
      core_.set_flag(pipe, id, site);
    }
  }

 private:
  const Plan& plan_;
};

Picoseconds time_with_late_flags(const Plan& plan) {
  sim::Program program;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    Launch launch = make_launch(plan, rank);
    const auto cube = launch.cube;
    launch.cube = [cube, &plan](CubeCore& core) {
      LateFlag late(core, plan);
      cube(late);
    };
    program.ranks.push_back({launch, nullptr});
  }
  program.launches = 1;
  program.values = false;
  const Timeline timeline = sim::TimedRun(std::move(program), plan.device, {}).run();
  EXPECT_TRUE(timeline.finished);
  return timeline.makespan;
}

TEST(Relations, AnEarlyFlagHelpsOnlyWhereTransfersAreExposed) {
  Device device = load_device("ascend950pr");
  // Four waves of tiles, two of them own rows: a wave that holds both kinds gains nothing. One
  // round, because the flag also starts the reduction of the round before.
  const Problem problem = problem_of(OperatorKind::matmul_reduce_scatter, 2, 4096, 2048, 4096, 1);
  const Plan exposed = make_plan(problem, device);
  const Picoseconds gain = time_with_late_flags(exposed) - time_of(exposed);
  visit_costs(device.costs, [](std::string_view name, std::int64_t& cost) {
    const bool latency = name == "link_latency_ns" || name == "drain_ns" || name == "epoch_ns" ||
                         name == "sync_all_ns";
    if (latency) cost = 0;
    const bool rate = name == "link_mb_s" || name == "core_send_mb_s" || name == "egress_mb_s" ||
                      name == "ingress_mb_s" || name == "hbm_mb_s";
    if (rate) cost *= 1000;
  });
  const Plan hidden = make_plan(problem, device);
  const Picoseconds rest = time_with_late_flags(hidden) - time_of(hidden);
  EXPECT_GT(gain, 10 * kUs);
  EXPECT_LT(rest, gain / 10);
}

TEST(Relations, ManySmallCallsAreBoundByTheScalarStream) {
  Device device = load_device("ascend950pr");
  // Small: 8 ranks with 16 rows each in a round, so that a tile is cut into many calls.
  Problem small = problem_of(OperatorKind::all_gather_matmul, 8, 64, 1024, 256, 4);
  const Picoseconds one_call = time_of(make_plan(small, device));
  small.product = ProductForm::subcalls;
  const Plan plan = make_plan(small, device);
  const Timeline before = run_timed(plan, {});
  device.costs.parameters_ns *= 4;
  const Timeline after = run_timed(make_plan(small, device), {});
  EXPECT_GT(before.makespan, one_call);
  const std::int64_t builds = before.ranks[0].parameter_builds;
  EXPECT_EQ(builds, after.ranks[0].parameter_builds);
  // What the busiest core pays more is at least the mean of all cores.
  const Picoseconds paid = builds * 3 * 2 * kUs / plan.blocks;
  EXPECT_GT(after.makespan - before.makespan, paid / 2);
  // Large: one call per rank and tile costs next to nothing.
  Device plain = load_device("ascend950pr");
  Problem large = problem_of(OperatorKind::all_gather_matmul, 2, 4096, 4096, 4096, 2);
  const Picoseconds fragments = time_of(make_plan(large, plain));
  large.product = ProductForm::subcalls;
  EXPECT_NEAR(ratio(time_of(make_plan(large, plain)), fragments), 1, 0.02);
}

TEST(Relations, SplittingTilesDoublesTrafficSplittingTheProblemKeepsIt) {
  Device device = load_device("ascend950pr");
  device.base_m = 256;
  device.base_n = 256;
  const OperatorKind op = OperatorKind::matmul_all_gather;
  const auto traffic = [&](std::int64_t tiles) {
    return run_timed(make_plan(problem_of(op, 2, 8192, 8192, 1024, tiles), device), {})
        .ranks[0]
        .mte2_bytes;
  };
  const std::int64_t whole = traffic(1);
  EXPECT_EQ(traffic(4), whole);
  EXPECT_EQ(traffic(8), whole);
  // 8192 rows x 4096 columns of a rank: A once per column of tiles, B once per row of them.
  const std::int64_t row = 1024 + 32;
  EXPECT_EQ(whole, 8192 * row * (4096 / 256) + 4096 * row * (8192 / 256));
  device.base_m = 128;
  device.base_n = 128;
  EXPECT_EQ(traffic(1), 2 * whole);
}

TEST(Relations, TheCurveOverTileCountsIsUShaped) {
  const Device device = load_device("ascend950pr");
  std::vector<Picoseconds> times;
  for (std::int64_t tiles : {1, 2, 4, 8, 16, 32, 64}) {
    times.push_back(time_of(make_plan(
        problem_of(OperatorKind::matmul_reduce_scatter, 8, 8192, 4096, 4096, tiles), device)));
  }
  const auto best = std::ranges::min_element(times) - times.begin();
  EXPECT_GT(best, 1);
  EXPECT_LT(best, 6);
  for (long i = 0; i < best; ++i) EXPECT_GT(times[i], times[i + 1]) << i;
  for (long i = best; i + 1 < static_cast<long>(times.size()); ++i) {
    EXPECT_LT(times[i], times[i + 1]) << i;
  }
  EXPECT_GT(ratio(times.front(), times[best]), 1.2);
  EXPECT_GT(ratio(times.back(), times[best]), 1.2);
}

TEST(Relations, HalfABandwidthDoublesWhatIsBoundByIt) {
  Device device = load_device("ascend950pr");
  // Links: long chunks, hardly a product.
  const Problem moves = problem_of(OperatorKind::all_gather_matmul, 2, 16384, 256, 4096, 1);
  const Picoseconds fast_link = time_of(make_plan(moves, device));
  Device slow = device;
  slow.costs.link_mb_s /= 2;
  EXPECT_NEAR(ratio(time_of(make_plan(moves, slow)), fast_link), 2, 0.1);
  // The matrix unit: one rank, long products.
  const Problem multiplies = problem_of(OperatorKind::all_gather_matmul, 1, 8192, 4096, 4096, 1);
  const Picoseconds fast_unit = time_of(make_plan(multiplies, device));
  slow = device;
  slow.costs.steps_per_kcycle /= 2;
  EXPECT_NEAR(ratio(time_of(make_plan(multiplies, slow)), fast_unit), 2, 0.1);
  // MTE2: short tiles that a slow pipe feeds.
  Device starved = device;
  starved.costs.mte2_mb_s /= 16;
  const Picoseconds fed = time_of(make_plan(multiplies, starved));
  starved.costs.mte2_mb_s /= 2;
  EXPECT_NEAR(ratio(time_of(make_plan(multiplies, starved)), fed), 2, 0.1);
  // What nothing is bound by changes nothing.
  Device wide = device;
  wide.costs.egress_mb_s *= 2;
  EXPECT_EQ(time_of(make_plan(multiplies, wide)), fast_unit);
}

TEST(Relations, AStragglerDelaysTheEndByNoMoreThanItsDelay) {
  const Device device = load_device("ascend950pr");
  for (const auto& [op, name] : kEnumNames<OperatorKind>) {
    const Plan plan = make_plan(problem_of(op, 4, 2048, 1024, 2048, 4), device);
    const Picoseconds on_time = time_of(plan);
    Picoseconds before = on_time;
    for (Picoseconds late : {5 * kUs, 50 * kUs, 500 * kUs}) {
      MeasureOptions options;
      options.late_start = {0, 0, late};
      const Picoseconds end = time_of(plan, options);
      // Different neighbours in time share memory and links otherwise: 2 % of the run.
      EXPECT_LE(end, on_time + late + on_time / 50) << name << " " << late;
      EXPECT_GE(end, before - on_time / 50) << name << " " << late;
      before = end;
    }
    EXPECT_GT(before, on_time + 400 * kUs) << name;
  }
}

TEST(Relations, TheMaskingDegreeStaysBelowWhatTheOrderAllows) {
  const Device device = load_device("ascend950pr");
  for (std::int64_t tiles : {1, 2, 4, 8}) {
    const auto plan = std::make_shared<Plan>(make_plan(scatter(tiles), device));
    const Measurement it = measure(plan, {});
    EXPECT_LE(it.masking, it.ideal_masking + 0.02) << tiles;
    EXPECT_GE(it.timeline.makespan + it.timeline.makespan / 50, it.ideal.time) << tiles;
  }
}

TEST(Ideal, HidesAllButOneRound) {
  const Device device = load_device("ascend950pr");
  for (int tiles : {1, 2, 4, 8}) {
    // Equal halves: 1/T of one of them shows.
    Problem problem = problem_of(OperatorKind::matmul_all_gather, 4, 2048, 1024, 1024, tiles);
    const Plan plan = make_plan(problem, device);
    ASSERT_EQ(plan.rounds(), tiles);
    const Ideal ideal = ideal_of(plan, 800 * kUs, 800 * kUs);
    EXPECT_NEAR(masking_degree(800 * kUs, 800 * kUs, ideal.time),
                static_cast<double>(tiles - 1) / tiles, 1e-9);
    problem.op = OperatorKind::all_to_all_matmul;
    const Ideal before = ideal_of(make_plan(problem, device), 800 * kUs, 800 * kUs);
    EXPECT_EQ(before.time, ideal.time);
  }
  // Transfers that are as long as the products: the first one hides behind the own part.
  Problem problem = problem_of(OperatorKind::all_to_all_matmul, 4, 2048, 1024, 1024, 8);
  problem.local_matmul = 1;
  const Ideal own_first = ideal_of(make_plan(problem, device), 800 * kUs, 800 * kUs);
  EXPECT_LT(own_first.time, 880 * kUs);
  EXPECT_EQ(masking_degree(800, 0, 800), 0);
}

}  // namespace
}  // namespace tandem
