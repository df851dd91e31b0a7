// SPDX-License-Identifier: Apache-2.0
// What plans of operators hold: the host takes any shape, sizes follow their formulas, buffers
// don't overlap.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/rng.h"
#include "mx/matrix.h"
#include "ops/test_problem.h"
#include "ops/test_refusal.h"
#include "report/device_json.h"

namespace tandem {
namespace {

using enum OperatorKind;

constexpr OperatorKind kAll[] = {all_to_all_matmul, all_gather_matmul, matmul_all_gather,
                                 matmul_reduce_scatter};

TEST(HostPlan, TakesAnyShapeAndAnyRanksFrom1To64) {
  const Device device = load_device("host");
  Rng rng(11);
  for (OperatorKind op : kAll) {
    for (int ranks = 1; ranks <= 64; ++ranks) {
      for (int draw = 0; draw < 4; ++draw) {
        Extents extents;
        extents.m = rng.below(300);
        extents.n = rng.below(300);
        extents.k = rng.below(5000);
        if (draw == 3) extents.m = rng.below(3);  // most ranks are empty
        const Problem problem = problem_of(op, ranks, extents);
        const auto reasons = reasons_against(problem, device);
        ASSERT_TRUE(reasons.empty()) << describe(problem) << testing::PrintToString(reasons);
        const Plan plan = make_plan(problem, device);
        EXPECT_GE(plan.jobs, 1);
        EXPECT_LE(plan.jobs, std::min(plan.ranks, plan.blocks));
        EXPECT_TRUE(plan.warnings.empty());
        EXPECT_LE(plan.reduction.ub_bytes, device.memory.ub_bytes);
      }
    }
  }
}

TEST(HostPlan, MoreRanksThan64AreRefused) {
  for (OperatorKind op : kAll) {
    EXPECT_EQ(reasons_against(problem_of(op, 65, {8, 8, 8}), load_device("host")).size(), 1u);
    EXPECT_EQ(reasons_against(problem_of(op, 0, {8, 8, 8}), load_device("host")).size(), 1u);
  }
}

TEST(HostPlan, SeparateRolesNeedTwoBlocks) {
  Problem problem = problem_of(matmul_reduce_scatter, 3, {8, 8, 8});
  problem.blocks = 1;
  const auto reasons = reasons_against(problem, load_device("host"));
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_NE(reasons[0].find("none reduces; use --cores shared"), std::string::npos) << reasons[0];
  Device lenient = load_device("host");
  lenient.rules.reduce_core_needed = false;
  EXPECT_TRUE(reasons_against(problem, lenient).empty());
  EXPECT_EQ(make_plan(problem, lenient).reduction.cores, 1);
  problem.cores = CoreMapping::shared;
  EXPECT_TRUE(reasons_against(problem, load_device("host")).empty());
  problem.cores = CoreMapping::separate;
  problem.blocks = 2;
  EXPECT_TRUE(reasons_against(problem, load_device("host")).empty());
}

TEST(HostPlan, BlocksFollowTheWorkers) {
  Device device = load_device("host");
  device.cores = 5;
  const Plan gather = make_plan(problem_of(all_gather_matmul, 3, {64, 64, 64}), device);
  EXPECT_EQ(gather.blocks, 5);
  EXPECT_EQ(gather.jobs, 3);
  // Communicating blocks come on top where roles are separate.
  const Plan scatter = make_plan(problem_of(matmul_reduce_scatter, 3, {64, 64, 64}), device);
  EXPECT_EQ(scatter.blocks, 8);
  EXPECT_EQ(scatter.jobs, 3);
  EXPECT_EQ(scatter.reduction.cores, 5);
  device.cores = 1;
  const Plan small = make_plan(problem_of(all_gather_matmul, 8, {64, 64, 64}), device);
  EXPECT_EQ(small.blocks, 2);
  EXPECT_EQ(small.jobs, 2);
}

TEST(WindowSize, FollowsItsFormula) {
  const Device host = load_device("host");
  const auto bytes = [&](const Problem& problem) { return make_plan(problem, host).window_bytes; };
  const auto behind = [](std::int64_t data, std::int64_t scales) {
    return round_up(data, 512) + scales;
  };
  // A place for each source, as large as the largest segment: 300 = 128 + 128 + 44.
  EXPECT_EQ(bytes(problem_of(all_to_all_matmul, 3, {100, 70, 300})),
            behind(3 * 100 * 128, 3 * 100 * 4));
  EXPECT_EQ(bytes(problem_of(all_gather_matmul, 3, {100, 70, 300})),
            behind(3 * 100 * 300, 3 * 100 * 10));
  // Partial products: R · ceil(M/R) rows.
  EXPECT_EQ(bytes(problem_of(matmul_reduce_scatter, 3, {100, 70, 300})), 3 * 34 * 70 * 2);
  Problem problem = problem_of(matmul_reduce_scatter, 3, {100, 70, 300});
  problem.staging = OutputType::fp32;
  EXPECT_EQ(bytes(problem), 3 * 34 * 70 * 4);
  EXPECT_EQ(make_plan(problem, host).staging_bytes, 100 * 70 * 4);
  // A slot holds one slice of the largest part of columns: ceil(70/3) = 24; 100 rows in 7 slices.
  problem = problem_of(matmul_all_gather, 3, {100, 70, 300});
  problem.tiles = 7;
  EXPECT_EQ(bytes(problem), 7 * 15 * 24 * 2);
  problem.slots = 2;
  EXPECT_EQ(bytes(problem), 2 * 15 * 24 * 2);
  problem.dtype_c = OutputType::fp32;
  EXPECT_EQ(bytes(problem), 2 * 15 * 24 * 4);
  // A ring of rows of A: R − 1 places in each slot; scales keep a place for each chunk.
  problem = problem_of(all_gather_matmul, 3, {100, 70, 300});
  problem.tiles = 7;
  problem.slots = 2;
  EXPECT_EQ(bytes(problem), behind(2 * 2 * 15 * 300, 3 * 100 * 10));
}

// Bytes per element of the reduction: two sources, two widened, the sum, the output.
TEST(UnifiedBuffer, HoldsAsManyElementsAsTheBudgetAllows) {
  struct Case {
    OutputType staging, out;
    std::int64_t element_bytes;
  };
  const Case cases[] = {{OutputType::bf16, OutputType::bf16, 18},
                        {OutputType::bf16, OutputType::fp32, 20},
                        {OutputType::fp32, OutputType::bf16, 22},
                        {OutputType::fp32, OutputType::fp32, 24}};
  Device device = load_device("host");
  device.memory.ub_bytes = 16384;
  for (const Case& item : cases) {
    // 544 bytes of guard round up to 576; six buffers may be padded to 64 bytes.
    const std::int64_t elements = round_down((16384 - 576 - 6 * 64) / item.element_bytes, 16);
    for (std::int64_t n : {elements / 3, elements / 2, elements, elements + 1, 3 * elements}) {
      Problem problem = problem_of(matmul_reduce_scatter, 2, {64, n, 32});
      problem.tiles = 1;
      problem.staging = item.staging;
      problem.dtype_c = item.out;
      const ReductionPlan reduction = make_plan(problem, device).reduction;
      EXPECT_EQ(reduction.segment_columns, std::min(n, elements));
      EXPECT_EQ(reduction.segments, ceil_div(n, elements));
      EXPECT_EQ(reduction.batch_rows, std::max<std::int64_t>(1, elements / n));
      EXPECT_LE(reduction.ub_bytes, device.memory.ub_bytes);
    }
  }
}

// Passes over a core's share of the longest round.
std::int64_t passes_of(const ReductionPlan& reduction, std::int64_t rows) {
  const std::int64_t share = ceil_div(rows, std::int64_t{reduction.cores});
  return ceil_div(share, reduction.batch_rows) * reduction.segments;
}

TEST(UnifiedBuffer, LongRowsAreCutSoThatPassesAreFew) {
  Device device = load_device("ascend950pr");
  for (std::int64_t n : {16384, 20480, 28032, 40960}) {
    Problem problem = problem_of(matmul_reduce_scatter, 2, {2048, n, 128});
    problem.tile_rows = 512;
    problem.reduction = ReductionForm::rows;
    const std::int64_t elements = make_plan(problem, device).reduction.segment_columns;
    ASSERT_LT(elements, n);
    problem.reduction = ReductionForm::batched;
    for (const int blocks : {4, 26}) {
      problem.blocks = blocks;
      const ReductionPlan reduction = make_plan(problem, device).reduction;
      EXPECT_LE(reduction.batch_rows, device.memory.strided_rows_max);
      EXPECT_LE(reduction.batch_rows * reduction.segment_columns, elements);
      EXPECT_EQ(reduction.segments, ceil_div(n, reduction.segment_columns));
      const std::int64_t by_rows =
          ceil_div(512, std::int64_t{reduction.cores}) * ceil_div(n, elements);
      EXPECT_LE(passes_of(reduction, 512), by_rows);
      if (n == 16384) {  // 14016 and 2368 columns: most of the second pass would be empty
        EXPECT_LT(3 * passes_of(reduction, 512), 2 * by_rows);
        EXPECT_GT(reduction.batch_rows, 1);
      }
      problem.strided = StridedCopy::single;
      EXPECT_EQ(make_plan(problem, device).reduction.segment_columns, reduction.segment_columns);
      problem.strided = StridedCopy::rows32;
    }
    device.memory.strided_rows_max = 0;  // rows are copied one by one anyway
    EXPECT_EQ(make_plan(problem, device).reduction.segment_columns, elements);
    device.memory.strided_rows_max = 32;
  }
}

TEST(UnifiedBuffer, BuffersAreDisjointAndInside) {
  for (const char* name : {"host", "ascend950pr"}) {
    const Device device = load_device(name);
    for (std::int64_t n : {16, 1024, 4096, 13312, 40960}) {
      for (UbManagement ub : {UbManagement::fixed, UbManagement::pipe}) {
        Problem problem = problem_of(matmul_reduce_scatter, 2, {1024, n, 128});
        problem.ub = ub;
        const ReductionPlan reduction = make_plan(problem, device).reduction;
        std::int64_t end = 0;
        for (const UbBuffer& buffer : reduction.map) {
          EXPECT_GE(buffer.offset, end) << buffer.name;
          EXPECT_EQ(buffer.offset % 64, 0) << buffer.name;
          end = buffer.offset + buffer.bytes;
        }
        EXPECT_LE(end, reduction.ub_bytes);
        EXPECT_LE(reduction.ub_bytes, device.memory.ub_bytes) << name << " n " << n;
        const std::int64_t cells = reduction.batch_rows * reduction.segment_columns;
        EXPECT_EQ(reduction.map.size(), 7u);
        EXPECT_EQ(reduction.map[1].bytes, cells * 2);
        EXPECT_EQ(reduction.map[5].bytes, cells * 4);
        EXPECT_EQ(reduction.map[1].offset, reduction.source_offset[0]);
        EXPECT_EQ(reduction.map[6].offset, reduction.out_offset);
        // Nothing of the reduction lies where communication keeps its state.
        EXPECT_GE(reduction.source_offset[0],
                  ub == UbManagement::pipe ? 544 : device.memory.ub_guard_bytes);
        if (ub == UbManagement::pipe) {
          EXPECT_EQ(reduction.batch_rows, 1);
        }
      }
    }
  }
}

// Tiles of a grid cover it once; regions cover every rank's rows once.
TEST(Regions, CoverTheRowsOfEveryRankOnce) {
  const Device device = load_device("ascend950pr");
  for (std::int64_t rows : {2061, 2048, 512, 100}) {
    const Plan plan = make_plan(problem_of(all_gather_matmul, 4, {rows, 2560, 4096}), device);
    std::int64_t own = 0;
    std::int64_t remote = 0;
    for (const Region& region : plan.regions) {
      if (region.ranks != RegionRanks::remote) own += region.rows.count;
      if (region.ranks != RegionRanks::own) remote += region.rows.count;
      if (region.padded_rows > 0) {
        EXPECT_EQ(region.padded_rows, round_up(region.rows.count, 16));
      }
    }
    EXPECT_EQ(own, rows);
    EXPECT_EQ(remote, rows);
  }
}

// The weights' bytes bound such a product: they are read once. An accelerator has its own rule.
TEST(Regions, AreOneWhereOneTileHoldsTheRowsOfAllRanks) {
  const auto ranks_of = [](const char* device, std::int64_t rows) {
    const Problem problem = problem_of(all_gather_matmul, 2, {rows, 512, 512});
    std::vector<RegionRanks> ranks;
    for (const Region& region : make_plan(problem, load_device(device)).regions) {
      ranks.push_back(region.ranks);
    }
    return ranks;
  };
  const std::vector<RegionRanks> together = {RegionRanks::all};
  const std::vector<RegionRanks> apart = {RegionRanks::own, RegionRanks::remote};
  EXPECT_EQ(ranks_of("host", 8), together);
  EXPECT_EQ(ranks_of("host", 63), together);
  EXPECT_EQ(ranks_of("host", 80).front(), RegionRanks::own);
  EXPECT_EQ(ranks_of("ascend950pr", 8), apart);
}

TEST(SumOrder, FollowsTheRowsOfAProduct) {
  Device device = load_device("host");
  device.rows_lane_max = 8;
  const auto order = [&](OperatorKind op, std::int64_t m) {
    return make_plan(problem_of(op, 4, {m, 16, 64}), device).order;
  };
  EXPECT_EQ(order(all_gather_matmul, 2), SumOrder::lane);  // R · m rows
  EXPECT_EQ(order(all_gather_matmul, 3), SumOrder::panel);
  for (OperatorKind op : {all_to_all_matmul, matmul_all_gather, matmul_reduce_scatter}) {
    EXPECT_EQ(order(op, 8), SumOrder::lane);
    EXPECT_EQ(order(op, 9), SumOrder::panel);
  }
}

TEST(Variants, ThatAreWrongByDesignSaySo) {
  Problem problem = problem_of(all_gather_matmul, 4, {64, 64, 64});
  problem.barrier = BarrierLayout::single_slot;
  problem.blocks = 4;
  EXPECT_EQ(make_plan(problem, load_device("host")).unsound.size(), 1u);
  problem.blocks = 1;  // one job: a single slot has a single writer
  EXPECT_TRUE(make_plan(problem, load_device("host")).unsound.empty());
  problem.barrier = BarrierLayout::per_peer;
  problem.blocks = 4;
  EXPECT_TRUE(make_plan(problem, load_device("host")).unsound.empty());
}

}  // namespace
}  // namespace tandem
