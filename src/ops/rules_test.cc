// SPDX-License-Identifier: Apache-2.0
// The rules of a device: each one violated alone gives exactly its reason, the nearest legal value
// gives a plan, and many violated at once are told at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "ops/test_problem.h"
#include "ops/test_refusal.h"
#include "report/device_json.h"

namespace tandem {
namespace {

using enum OperatorKind;

// A problem that ascend950pr takes.
Problem legal(OperatorKind op) {
  switch (op) {
    case all_to_all_matmul:
      return problem_of(op, 4, {2048, 3584, 8192});
    case all_gather_matmul:
      return problem_of(op, 4, {2061, 2560, 4096});
    case matmul_all_gather:
      return problem_of(op, 4, {2048, 4096, 4096});
    case matmul_reduce_scatter:
      return problem_of(op, 4, {8192, 4096, 1792});
  }
  return {};
}

struct Change {
  std::function<void(Problem&)> problem;
  std::function<void(Device&)> device = [](Device&) {};
};

struct Rule {
  const char* name;
  std::vector<OperatorKind> operators;
  Change violated;
  const char* reason;  // what stands behind "<operator> on ascend950pr: "
  Change kept;         // the nearest value that is allowed
};

void expect_rule(const Rule& rule) {
  for (OperatorKind op : rule.operators) {
    Problem problem = legal(op);
    Device device = load_device("ascend950pr");
    SCOPED_TRACE(std::string(rule.name) + ", " + std::string(to_string(op)));
    ASSERT_TRUE(reasons_against(problem, device).empty());
    rule.violated.problem(problem);
    rule.violated.device(device);
    const auto reasons = reasons_against(problem, device);
    ASSERT_EQ(reasons.size(), 1u) << testing::PrintToString(reasons);
    const std::string subject = std::string(to_string(op)) + " on ascend950pr: ";
    EXPECT_EQ(reasons[0], subject + rule.reason);
    problem = legal(op);
    device = load_device("ascend950pr");
    rule.kept.problem(problem);
    rule.kept.device(device);
    EXPECT_EQ(reasons_against(problem, device), std::vector<std::string>{});
  }
}

Change m(std::int64_t value) {
  return {[value](Problem& problem) { problem.m = value; }};
}
Change n(std::int64_t value) {
  return {[value](Problem& problem) { problem.n = value; }};
}
Change k(std::int64_t value) {
  return {[value](Problem& problem) { problem.k = value; }};
}
// All the same, with ranks and cores that let just one of the rules on ranks speak.
Change ranks(int value, Extents extents, int cores = 32, int fragments_max = 32) {
  return {[=](Problem& problem) {
            const Problem other = problem_of(problem.op, value, extents);
            problem.ranks = value;
            problem.m = other.m;
            problem.n = other.n;
            problem.k = other.k;
          },
          [=](Device& device) {
            device.cores = cores;
            device.rules.fragments_max = fragments_max;
          }};
}

const std::vector<OperatorKind> kAll{all_to_all_matmul, all_gather_matmul, matmul_all_gather,
                                     matmul_reduce_scatter};
const std::vector<OperatorKind> kWholeK{all_gather_matmul, matmul_all_gather,
                                        matmul_reduce_scatter};

TEST(AcceleratorRules, Extents) {
  expect_rule({"m > 0", kAll, m(0), "m is 0; use 1 or more", m(256)});
  expect_rule({"n > 0", kAll, n(0), "n is 0; use 1 or more", n(4096)});
  expect_rule({"k > 0", kAll, k(0), "k is 0; use 1 or more", k(1024)});
}

TEST(AcceleratorRules, GroupsAndPairsOfScales) {
  expect_rule({"K % 32", kWholeK, k(4176),
               "k 4176 is not a multiple of 32 (MX group); use 4160 or 4192", k(4192)});
  expect_rule({"ceil(K/64) even", kWholeK, k(4160),
               "k 4160 has ceil(k/64) = 65 pairs of scales, not a multiple of 2; use 4224",
               k(4224)});
  expect_rule({"smallest K", kWholeK, k(32),
               "k 32 has ceil(k/64) = 1 pairs of scales, not a multiple of 2; use 128", k(96)});
  expect_rule({"Ka % 32",
               {all_to_all_matmul},
               k(4 * 100),
               "k per rank 100 is not a multiple of 32 (MX group); use 96 or 128",
               k(4 * 128)});
  expect_rule({"ceil(Ka/64) even",
               {all_to_all_matmul},
               k(4 * 192),
               "k per rank 192 has ceil(k/64) = 3 pairs of scales, not a multiple of 2; use 256",
               k(4 * 256)});
  expect_rule({"Ka % 64",
               {all_to_all_matmul},
               k(4 * 96),
               "k per rank 96 is not a multiple of 64 (pair of scales); use 64 or 128",
               k(4 * 128)});
}

TEST(AcceleratorRules, PartsAreEqual) {
  expect_rule({"K % R",
               {all_to_all_matmul},
               k(8193),
               "k 8193 does not divide over 4 ranks; use 8192 or 8196",
               k(8192)});
  expect_rule({"N % R",
               {matmul_all_gather},
               ranks(3, {2048, 4096, 4096}),
               "n 4096 does not divide over 3 ranks; use 4095 or 4098",
               ranks(3, {2048, 4128, 4096})});
  expect_rule({"M % R",
               {matmul_reduce_scatter},
               m(8190),
               "m 8190 does not divide over 4 ranks; use 8188 or 8192",
               m(8192)});
}

TEST(AcceleratorRules, StoredRowsAreWholeLines) {
  expect_rule({"N % 16",
               {all_to_all_matmul, all_gather_matmul, matmul_reduce_scatter},
               n(4100),
               "n 4100 is not a multiple of 16 (32-byte store rows); use 4096 or 4112",
               n(4112)});
  expect_rule({"N/R % 16",
               {matmul_all_gather},
               n(4 * 1032),
               "n per rank 1032 is not a multiple of 16 (32-byte store rows); use 1024 or 1040",
               n(4 * 1040)});
  expect_rule({"tail % 16",
               {matmul_reduce_scatter},
               m(4 * 2065),
               "slices of 512 of 2065 rows leave a tail of 17, not a multiple of 16; use --tail "
               "pad, --tail divide or another --tile-rows",
               m(4 * 2064)});
  expect_rule({"tail % 16",
               {matmul_all_gather},
               m(2063),
               "slices of 512 of 2063 rows leave a tail of 15, not a multiple of 16; use --tail "
               "divide or another --tile-rows",
               m(2064)});
}

TEST(AcceleratorRules, RanksAndCores) {
  expect_rule({"R <= 64",
               {all_to_all_matmul},
               ranks(65, {4096, 4096, 65 * 128}, 128),
               "R is 65; use 1 to 64 ranks",
               ranks(64, {4096, 4096, 64 * 128}, 128)});
  expect_rule({"R <= 64", kWholeK, ranks(65, {4096, 4096, 128}, 128, 128),
               "R is 65; use 1 to 64 ranks", ranks(64, {4096, 4096, 128}, 128, 128)});
  expect_rule({"R >= 1", kAll, ranks(0, {64, 64, 128}), "R is 0; use 1 to 64 ranks",
               ranks(1, {64, 64, 128})});
  // 32 cores: rank 33 would have no block of its own.
  const char* const nobody_serves =
      "R 33 exceeds the 32 blocks that the product uses: nobody would serve some peers; use fewer "
      "ranks or a larger product";
  expect_rule({"blocks >= R",
               {all_to_all_matmul},
               ranks(33, {2048, 4096, 33 * 128}),
               nobody_serves,
               ranks(32, {2048, 4096, 32 * 128})});
  expect_rule({"blocks >= R",
               {all_gather_matmul, matmul_all_gather},
               ranks(33, {2048, 33 * 128, 128}, 32, 64),
               nobody_serves,
               ranks(32, {2048, 32 * 128, 128}, 32, 64)});
  expect_rule({"a core reduces",
               {matmul_reduce_scatter},
               ranks(32, {32 * 64, 4096, 1792}),
               "32 blocks, 32 of them communicate: none reduces; use --cores shared, more blocks "
               "or fewer ranks",
               ranks(31, {31 * 64, 4096, 1792})});
  expect_rule({"fragments",
               {all_gather_matmul, matmul_reduce_scatter},
               ranks(33, {33 * 64, 4096, 1792}, 64),
               "R 33 exceeds the 32 fragments of one operand; use at most 32 ranks",
               ranks(32, {32 * 64, 4096, 1792}, 64)});
  const auto blocks = [](int count) {
    return Change{[count](Problem& problem) { problem.blocks = count; }};
  };
  expect_rule({"blocks <= cores", kAll, blocks(33),
               "--blocks 33 exceeds the 32 cores; use at most 32", blocks(32)});
}

// The bytes that a plan needs are enough; one less is refused.
TEST(AcceleratorRules, Window) {
  for (OperatorKind op : kAll) {
    const std::int64_t need = make_plan(legal(op), load_device("ascend950pr")).window_bytes;
    const auto window = [](std::int64_t bytes) {
      return Change{[](Problem&) {},
                    [bytes](Device& device) { device.memory.window_bytes = bytes; }};
    };
    const std::string reason =
        cat("the window needs ", need, " bytes a rank, the device offers ", need - 1,
            "; use a smaller shape, or --slots where the operator has a ring");
    expect_rule({"window", {op}, window(need - 1), reason.c_str(), window(need)});
  }
  // 200 MiB of product rows: M · N · 2 = 25600 · 4096 · 2 fits exactly.
  expect_rule(
      {"window",
       {matmul_reduce_scatter},
       m(25600 + 64),
       "the window needs 210239488 bytes a rank, the device offers 209715200; use a smaller "
       "shape, or --slots where the operator has a ring",
       m(25600)});
}

TEST(AcceleratorRules, FlagIdsByRoundFitTheDevice) {
  const auto by_round = [](int id_max) {
    return Change{[](Problem& problem) { problem.flags = FlagNumbering::round; },
                  [id_max](Device& device) { device.rules.round_id_max = id_max; }};
  };
  expect_rule({"ids",
               {all_to_all_matmul, all_gather_matmul, matmul_all_gather},
               by_round(9),
               "--flags round needs ids up to 10, the device has 9; use --flags counting",
               by_round(10)});
  expect_rule({"ids",
               {matmul_reduce_scatter},
               by_round(8),
               "--flags round needs ids up to 9, the device has 8; use --flags counting",
               by_round(9)});
}

TEST(AcceleratorRules, SevenViolatedAtOnceGiveSevenReasons) {
  Problem problem = problem_of(matmul_reduce_scatter, 4, {4 * 65 * 512 + 5, 4100, 4100});
  problem.blocks = 33;
  const auto reasons = reasons_against(problem, load_device("ascend950pr"));
  const char* expected[] = {"k 4100 is not a multiple of 32",
                            "65 pairs of scales",
                            "n 4100 is not a multiple of 16",
                            "does not divide over 4 ranks",
                            "leave a tail of 2",
                            "--blocks 33 exceeds",
                            "the window needs"};
  ASSERT_EQ(reasons.size(), std::size(expected)) << testing::PrintToString(reasons);
  for (const char* text : expected) {
    EXPECT_EQ(std::ranges::count_if(
                  reasons, [&](const std::string& line) { return line.find(text) != line.npos; }),
              1)
        << text;
  }
}

// Large transfers only warn: 512 rows of 1024 bytes are 512 KiB.
TEST(AcceleratorRules, RiskHintsNeverRefuse) {
  const Device device = load_device("ascend950pr");
  Problem problem = problem_of(all_gather_matmul, 4, {2048, 2560, 1024});
  EXPECT_TRUE(make_plan(problem, device).warnings.empty());
  problem.k = 1152;
  const Plan plan = make_plan(problem, device);
  ASSERT_EQ(plan.warnings.size(), 1u);
  EXPECT_NE(plan.warnings[0].find("a single transfer moves 589824 bytes"), std::string::npos);
  // Any number of rounds, far beyond a flag's counter.
  problem.tile_rows = 16;
  EXPECT_EQ(make_plan(problem, device).rounds(), 128);
}

TEST(Ranges, AreCheckedOnEveryDevice) {
  const auto expect_reason = [](const std::function<void(Problem&)>& change,
                                const std::string& reason) {
    Problem problem = problem_of(all_to_all_matmul, 2, {64, 64, 128});
    change(problem);
    const auto reasons = reasons_against(problem, load_device("host"));
    ASSERT_EQ(reasons.size(), 1u) << testing::PrintToString(reasons);
    EXPECT_EQ(reasons[0], "all-to-all-matmul on host: " + reason);
  };
  expect_reason([](Problem& p) { p.m = -1; }, "m is -1; use 0 or more");
  expect_reason([](Problem& p) { p.n = std::int64_t{1} << 31; },
                "n is 2147483648, more than 2^31 - 1; use a smaller extent");
  expect_reason([](Problem& p) { p.tiles = 0; }, "--tiles is 0; use 1 or more");
  expect_reason([](Problem& p) { p.tile_rows = 0; }, "--tile-rows is 0; use 1 or more");
  expect_reason(
      [](Problem& p) {
        p.tiles = 2;
        p.tile_rows = 8;
      },
      "--tiles 2 and --tile-rows 8 are both given; give one of them");
  expect_reason([](Problem& p) { p.blocks = 0; }, "--blocks is 0; use 1 to 256");
  expect_reason([](Problem& p) { p.blocks = 257; }, "--blocks is 257; use 1 to 256");
  for (int mode : {-1, 3}) {
    expect_reason([mode](Problem& p) { p.local_matmul = mode; },
                  cat("--local-matmul is ", mode,
                      "; use 0 (fused), 1 (own part first) or 2 (deferred wait)"));
  }
  expect_reason([](Problem& p) { p.m = p.n = p.k = (std::int64_t{1} << 31) - 1; },
                "R 2, m 2147483647, n 2147483647, k 2147483647: an operand exceeds 2^63 - 1 "
                "bytes; use a smaller shape");
  expect_reason(
      [](Problem& p) {
        p.m = 3000000;
        p.tiles = 2000000;
      },
      "2000000 rounds are more than 1048576; use fewer --tiles or more --tile-rows");
  expect_reason(
      [](Problem& p) {
        p.m = p.n = 1 << 27;
        p.tiles = 1;
        p.k = 1;
      },
      "a round's product of 134217728 x 134217728 has 488672067584 tiles, more than "
      "4194304; use a smaller shape or more rounds");
}

}  // namespace
}  // namespace tandem
