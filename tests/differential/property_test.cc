// SPDX-License-Identifier: Apache-2.0
// Equations between runs: what must not change the bits of a result.
#include <gtest/gtest.h>

#include <cstring>

#include "base/strings.h"
#include "gemm/tile_product.h"
#include "harness.h"

namespace tandem::differential {
namespace {

constexpr OperatorKind kOperatorKinds[] = {
    OperatorKind::all_to_all_matmul, OperatorKind::all_gather_matmul,
    OperatorKind::matmul_all_gather, OperatorKind::matmul_reduce_scatter};
constexpr const char* kTransports[] = {"shm", "threads"};

Case small_case(OperatorKind op, int ranks) {
  Case one;
  one.problem.op = op;
  one.problem.ranks = ranks;
  one.problem.m = 37;
  one.problem.n = 48;
  one.problem.k = 200;
  one.transport = "threads";
  return one;
}

std::vector<std::uint8_t> bytes_of(const Output& output) {
  return {output.view().begin(), output.view().end()};
}

// C of this rank, from one launch.
std::vector<std::uint8_t> run_once(World& world, const Problem& problem, const Inputs& inputs) {
  Operator op(world, problem);
  Output output(problem, world.rank());
  output.poison();
  op.run(inputs.a(world.rank()), inputs.b(world.rank()), output.c(), inputs.bias(world.rank()));
  return bytes_of(output);
}

void expect_all_pass(const std::vector<Case>& cases) {
  const Summary summary = run_cases(cases);
  EXPECT_TRUE(summary.failures.empty()) << summary.text();
  EXPECT_EQ(summary.cases, static_cast<std::int64_t>(cases.size()));
}

// The gather of the left operand and the gather of the product are one multiplication: column
// block r of concat_s(A_s) · [B_0 … B_R−1].
std::string compare_gathers(World& world, const Problem& gather) {
  const Inputs inputs(gather, InputKind::normal, 11);
  Problem get = gather;
  get.op = OperatorKind::matmul_all_gather;
  get.m = gather.ranks * gather.m;
  get.n = gather.ranks * gather.n;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  std::vector<float> bias;
  for (int rank = 0; rank < gather.ranks; ++rank) {
    const MxOperand a = inputs.a(rank);
    codes.insert(codes.end(), a.codes, a.codes + gather.m * gather.k);
    scales.insert(scales.end(), a.scales, a.scales + gather.m * scale_bytes(gather.k));
    bias.insert(bias.end(), inputs.bias(rank), inputs.bias(rank) + gather.n);
  }
  const std::vector<std::uint8_t> block = run_once(world, gather, inputs);
  Operator op(world, get);
  Output output(get, world.rank());
  output.poison();
  op.run({codes.data(), scales.data()}, inputs.b(world.rank()), output.c(), bias.data());
  const std::int64_t element = element_bytes(gather.dtype_c);
  for (std::int64_t row = 0; row < get.m; ++row) {
    const std::uint8_t* whole = output.c() + (row * get.n + world.rank() * gather.n) * element;
    if (std::memcmp(whole, block.data() + row * gather.n * element, gather.n * element) != 0) {
      return cat("row ", row, " of column block ", world.rank(), " differs");
    }
  }
  return "";
}

TEST(Property, ColumnBlocksOfMatmulAllGatherAreAllGatherMatmuls) {
  for (const char* transport : kTransports) {
    for (int ranks : {1, 2, 3, 4, 8}) {
      for (std::int64_t m : {1, 6, 29}) {  // a global row count in lane order too
        Problem problem = small_case(OperatorKind::all_gather_matmul, ranks).problem;
        problem.m = m;
        problem.n = 19;
        problem.bias = true;
        problem.tiles = 3;
        EXPECT_EQ(run_world({.ranks = ranks, .transport = transport, .workers = 1},
                            [&](World& world) { return compare_gathers(world, problem); }),
                  "");
      }
    }
  }
}

// Runs the problem and its variants on the same inputs and names the variants that differ.
std::string compare_variants(World& world, const Problem& problem,
                             const std::vector<Problem>& variants) {
  const Inputs inputs(problem, InputKind::normal, 5);
  const auto first = run_once(world, problem, inputs);
  std::string failures;
  for (const Problem& variant : variants) {
    if (run_once(world, variant, inputs) == first) continue;
    Case one;
    one.problem = variant;
    failures += description(one) + " differs\n";
  }
  return failures;
}

void expect_variants_agree(const Problem& problem, const std::vector<Problem>& variants) {
  for (const char* transport : kTransports) {
    for (int workers : {1, 2}) {
      EXPECT_EQ(run_world({.ranks = problem.ranks, .transport = transport, .workers = workers},
                          [&](World& world) { return compare_variants(world, problem, variants); }),
                "");
    }
  }
}

TEST(Property, TheCountOfTilesDoesNotChangeTheResult) {
  for (OperatorKind op : kOperatorKinds) {
    Problem problem = small_case(op, 3).problem;
    problem.tiles = 1;
    std::vector<Problem> variants;
    for (int tiles : {2, 3, 7, 16, 37}) {
      variants.push_back(problem);
      variants.back().tiles = tiles;
    }
    variants.push_back(problem);
    variants.back().tiles.reset();
    variants.back().tile_rows = 5;
    expect_variants_agree(problem, variants);
  }
}

TEST(Property, RingsOfOneTwoAndThreeSlotsTurnOverSeventeenTiles) {
  std::vector<Case> cases;
  for (OperatorKind op : {OperatorKind::all_gather_matmul, OperatorKind::matmul_all_gather}) {
    for (const char* transport : kTransports) {
      for (int ranks : {2, 4, 5}) {
        for (int slots : {1, 2, 3}) {
          for (FlagNumbering flags : {FlagNumbering::counting, FlagNumbering::round}) {
            Case one = small_case(op, ranks);
            one.transport = transport;
            one.workers = 1 + slots % 2;
            one.problem.tiles = 17;
            one.problem.slots = slots;
            one.problem.flags = flags;
            cases.push_back(one);
          }
        }
      }
    }
  }
  expect_all_pass(cases);
}

// Every value of every option that says how, not what.
std::vector<Problem> plan_variants(const Problem& problem) {
  std::vector<Problem> variants;
  const auto add = [&](auto Problem::*field, auto value) {
    variants.push_back(problem);
    variants.back().*field = value;
  };
  const bool scatters = problem.op == OperatorKind::matmul_reduce_scatter;
  const bool gathers = problem.op == OperatorKind::all_gather_matmul;
  const bool gets = problem.op == OperatorKind::matmul_all_gather;
  add(&Problem::flags, FlagNumbering::round);
  for (int blocks : {2, 3, 6, 9}) add(&Problem::blocks, std::optional<int>(blocks));
  if (gathers || scatters) add(&Problem::product, ProductForm::subcalls);
  if (!gets) add(&Problem::transfer, Transfer::direct);
  if (gathers || gets) {
    for (int slots : {1, 2, 3}) add(&Problem::slots, slots);
  }
  if (!scatters) {
    add(&Problem::blocks, std::optional<int>(1));
    return variants;
  }
  add(&Problem::cores, CoreMapping::shared);
  add(&Problem::reduction, ReductionForm::rows);
  add(&Problem::ub, UbManagement::pipe);
  add(&Problem::strided, StridedCopy::single);
  add(&Problem::fence, FenceJobs::first);
  return variants;
}

TEST(Property, EveryPlanVariantGivesTheSameBits) {
  for (OperatorKind op : kOperatorKinds) {
    for (int ranks : {2, 5}) {
      Problem problem = small_case(op, ranks).problem;
      problem.tiles = 6;
      problem.bias = true;
      expect_variants_agree(problem, plan_variants(problem));
    }
  }
}

TEST(Property, VariantsAgreeOverSeveralSegmentsOfTheReduction) {
  Problem problem = small_case(OperatorKind::matmul_reduce_scatter, 3).problem;
  problem.m = 11;
  problem.n = 10304;
  problem.k = 33;
  problem.tiles = 2;
  expect_variants_agree(problem, plan_variants(problem));
}

// Gives the best target back whatever happens.
struct ForcedTarget {
  explicit ForcedTarget(const char* name) { gemm::force_simd_target(name); }
  ~ForcedTarget() { gemm::force_simd_target(""); }
};

TEST(Property, EverySimdTargetGivesTheSameBits) {
  ASSERT_FALSE(gemm::simd_targets().empty());
  for (const char* target : gemm::simd_targets()) {
    SCOPED_TRACE(target);
    const ForcedTarget forced(target);
    std::vector<Case> cases;
    for (OperatorKind op : kOperatorKinds) {
      for (const char* transport : kTransports) {
        for (InputKind kind : {InputKind::normal, InputKind::extreme}) {
          for (std::int64_t m : {1, 37}) {  // lane order and panel order
            for (OutputType type : {OutputType::bf16, OutputType::fp16, OutputType::fp32}) {
              Case one = small_case(op, 3);
              one.transport = transport;
              one.inputs = kind;
              one.problem.m = m;
              one.problem.tiles = 3;
              one.problem.dtype_b = ElementFormat::e5m2;
              one.problem.dtype_c = type;
              one.problem.bias = true;
              cases.push_back(one);
            }
          }
        }
      }
    }
    expect_all_pass(cases);
  }
}

}  // namespace
}  // namespace tandem::differential
