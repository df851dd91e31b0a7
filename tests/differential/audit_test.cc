// SPDX-License-Identifier: Apache-2.0
// The comparison itself: a tile in the wrong place, a forgotten group and a lost partial are caught
// in every operator, by the bits and by the error bound.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/strings.h"
#include "harness.h"

namespace tandem::differential {
namespace {

constexpr OperatorKind kOperatorKinds[] = {
    OperatorKind::all_to_all_matmul, OperatorKind::all_gather_matmul,
    OperatorKind::matmul_all_gather, OperatorKind::matmul_reduce_scatter};
constexpr int kRanks = 3;
constexpr std::int64_t kTile = 8;

Case audited_case(OperatorKind op, OutputType type) {
  Case one;
  one.problem.op = op;
  one.problem.ranks = kRanks;
  one.problem.m = 72;
  one.problem.n = 32;
  one.problem.k = 576;  // 3 pieces of 64 for each rank
  one.problem.dtype_c = type;
  one.problem.tiles = 3;
  one.transport = "threads";
  return one;
}

// Exchanges two square tiles of C.
void swap_tiles(const Problem& problem, std::uint8_t* c) {
  const std::int64_t element = element_bytes(problem.dtype_c);
  const std::int64_t pitch = problem.n * element;
  for (std::int64_t row = 0; row < kTile; ++row) {
    std::uint8_t* first = c + row * pitch;
    std::uint8_t* second = c + (row + kTile) * pitch + kTile * element;
    std::swap_ranges(first, first + kTile * element, second);
  }
}

// Row 2 of what rank 1 sends to rank 0 loses a group.
void drop_group(const Problem& problem, Inputs& inputs) {
  Operand& a = inputs.a_operand(1);
  const bool one_for_all = problem.op == OperatorKind::matmul_all_gather;
  const std::int64_t group = one_for_all ? 5 : 3;
  for (std::int64_t k = group * 32; k < (group + 1) * 32; ++k) a.code(2, k) = 0;
}

// Rank 1's part of the result is missing: its rows, its columns, its segment or its summand.
void drop_partial(const Problem& problem, Inputs& inputs) {
  const Shapes held = shapes_of(problem, 1);
  const bool by_columns = problem.op == OperatorKind::matmul_all_gather;
  Operand& operand = by_columns ? inputs.b_operand(1) : inputs.a_operand(1);
  const std::int64_t rows = by_columns ? held.b_columns : held.a_rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < held.a_k; ++k) operand.code(row, k) = 0;
  }
}

// How many elements two comparisons found different, by the text of the failure.
std::string expect_caught(const std::string& what, const std::string& bits,
                          const std::string& bound) {
  std::string failures;
  if (bits.empty()) failures += what + " escapes the comparison of bits\n";
  if (bound.empty()) failures += what + " escapes the bound\n";
  return failures;
}

// What rank 0 finds when its C is compared with references that were tampered with.
std::string audit(World& world, const Case& one) {
  const Problem& problem = one.problem;
  const Inputs inputs(problem, InputKind::normal, 3);
  Operator op(world, problem);
  Output output(problem, world.rank());
  output.poison();
  op.run(inputs.a(world.rank()), inputs.b(world.rank()), output.c());
  if (world.rank() != 0) return "";
  const Origin origin{one, 0, op.rounds()};
  const Reference sound = make_reference(problem, inputs, 0, true);
  std::string failures =
      compare(origin, output.view(), sound.c) + compare_with_bound(origin, sound, output.view());
  if (!failures.empty()) return failures;

  for (const auto& [what, tamper] :
       {std::pair<const char*, void (*)(const Problem&, Inputs&)>{"a dropped group", drop_group},
        {"a dropped partial", drop_partial}}) {
    Inputs tampered = inputs;
    tamper(problem, tampered);
    const Reference other = make_reference(problem, tampered, 0, true);
    failures += expect_caught(what, compare(origin, output.view(), other.c),
                              compare_with_bound(origin, other, output.view()));
  }
  swap_tiles(problem, output.c());
  failures += expect_caught("a swapped tile", compare(origin, output.view(), sound.c),
                            compare_with_bound(origin, sound, output.view()));
  return failures;
}

TEST(Audit, SwappedTilesDroppedGroupsAndLostPartialsAreCaught) {
  for (OperatorKind op : kOperatorKinds) {
    for (OutputType type : {OutputType::bf16, OutputType::fp16, OutputType::fp32}) {
      const Case one = audited_case(op, type);
      EXPECT_EQ(run_world({.ranks = kRanks, .transport = "threads", .workers = 1},
                          [&](World& world) { return audit(world, one); }),
                "")
          << description(one);
    }
  }
}

TEST(Audit, TheFailureNamesElementValuesSourceRoundAndTheCommand) {
  Case one = audited_case(OperatorKind::all_gather_matmul, OutputType::bf16);
  one.seed = 77;
  const std::int64_t count = kRanks * one.problem.m * one.problem.n;
  std::vector<std::uint8_t> want(count * 2, 0);
  std::vector<std::uint8_t> got = want;
  // 1.0 instead of 0 in row 30 of rank 1's rows, which is in the second of three rounds.
  const std::int64_t index = (one.problem.m + 30) * one.problem.n + 7;
  got[index * 2] = 0x80;
  got[index * 2 + 1] = 0x3F;
  const std::string text = compare({one, 2, 3, 1}, got, want);
  EXPECT_EQ(
      text,
      "all-gather-matmul on rank 2, launch 1: 1 of 6912 elements differ; first (102, 7): "
      "got 0x3f80 (1), want 0x0000 (0), from rank 1, round 1 of 3; case all-gather-matmul "
      "-R 3 -m 72 -n 32 -k 576 --tiles 3 --transport threads --input normal --workers 1 --seed "
      "77; reproduce: TANDEM_CASE=77 differential_test --gtest_filter=Audit."
      "TheFailureNamesElementValuesSourceRoundAndTheCommand");
}

TEST(Audit, NansAreEqualWhateverTheirPayloadAndZerosDifferBySign) {
  Case one = audited_case(OperatorKind::matmul_all_gather, OutputType::bf16);
  one.problem.n = 2;
  const std::vector<std::uint8_t> quiet = {0xC0, 0x7F, 0x00, 0x00};
  const std::vector<std::uint8_t> payload = {0xC5, 0xFF, 0x00, 0x00};
  const std::vector<std::uint8_t> minus_zero = {0xC0, 0x7F, 0x00, 0x80};
  EXPECT_EQ(compare({one}, quiet, payload), "");
  EXPECT_NE(compare({one}, quiet, minus_zero), "");
}

TEST(Audit, WritesBesideCAreSeen) {
  const Case one = audited_case(OperatorKind::matmul_all_gather, OutputType::fp32);
  Output output(one.problem, 0);
  output.poison();
  EXPECT_TRUE(output.canaries_are_whole());
  output.c()[0] ^= 1;
  EXPECT_TRUE(output.canaries_are_whole());
  output.c()[output.view().size()] ^= 1;
  EXPECT_FALSE(output.canaries_are_whole());
  output.poison();
  output.c()[-1] ^= 1;
  EXPECT_FALSE(output.canaries_are_whole());
}

}  // namespace
}  // namespace tandem::differential
