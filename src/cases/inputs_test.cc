// SPDX-License-Identifier: Apache-2.0
#include "cases/inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "mx/formats.h"
#include "mx/quantise.h"

namespace tandem {
namespace {

using enum OperatorKind;

Problem problem_of(OperatorKind op) {
  Problem problem{.op = op, .ranks = 3, .m = 21, .n = 17, .k = 200};
  problem.dtype_b = ElementFormat::e5m2;
  problem.bias = true;
  return problem;
}

bool same(const Operands& x, const Operands& y) {
  return x.a_codes == y.a_codes && x.a_scales == y.a_scales && x.b_codes == y.b_codes &&
         x.b_scales == y.b_scales && x.bias == y.bias;
}

TEST(Inputs, AreTheSameForTheSameSeedAndOthersForAnother) {
  for (const auto& [kind, name] : kEnumNames<InputKind>) {
    const Problem problem = problem_of(all_gather_matmul);
    const Operands first = make_operands(problem, {.kind = kind, .seed = 7}, 1);
    EXPECT_TRUE(same(first, make_operands(problem, {.kind = kind, .seed = 7}, 1))) << name;
    EXPECT_NE(first.a_codes, make_operands(problem, {.kind = kind, .seed = 7}, 2).a_codes) << name;
    if (kind == InputKind::coded) continue;  // they say where they are, whatever the seed
    EXPECT_NE(first.a_codes, make_operands(problem, {.kind = kind, .seed = 8}, 1).a_codes) << name;
  }
}

TEST(Inputs, HaveTheBitsThatTheyHadWhenThisTestWasWritten) {
  // Two FNV-1a sums over all bytes of a rank: results that people keep stay comparable.
  const Operands operands = make_operands(problem_of(all_gather_matmul), {.seed = 1}, 1);
  std::uint64_t codes = 0xCBF29CE484222325u;
  std::uint64_t scales = codes;
  for (const std::uint8_t byte : operands.a_codes) codes = (codes ^ byte) * 0x100000001B3u;
  for (const std::uint8_t byte : operands.b_scales) scales = (scales ^ byte) * 0x100000001B3u;
  EXPECT_EQ(codes, 1429951590728206590u);
  EXPECT_EQ(scales, 3626476204957485285u);
}

TEST(Inputs, AreSharedWhereRanksHoldTheSame) {
  const InputOptions options;
  for (const auto& [op, name] : kEnumNames<OperatorKind>) {
    const Operands first = make_operands(problem_of(op), options, 0);
    const Operands second = make_operands(problem_of(op), options, 1);
    EXPECT_EQ(first.a_codes == second.a_codes, op == matmul_all_gather) << name;
    EXPECT_EQ(first.b_codes == second.b_codes, op == all_to_all_matmul) << name;
    EXPECT_EQ(first.bias == second.bias, op != all_gather_matmul) << name;
  }
}

TEST(Inputs, OfARowDoNotDependOnItsNeighbours) {
  for (const auto& [kind, name] : kEnumNames<InputKind>) {
    const Problem problem = problem_of(all_gather_matmul);
    const auto source = make_generator(problem, {.kind = kind});
    MxRows all(problem.dtype_a, problem.m, problem.k);
    source->fill_a(2, {0, problem.m}, all, 0);
    MxRows some(problem.dtype_a, 9, problem.k);
    source->fill_a(2, {11, 4}, some, 3);
    for (int row = 0; row < 4; ++row) {
      EXPECT_TRUE(std::equal(some.codes(3 + row), some.codes(4 + row), all.codes(11 + row)));
      EXPECT_TRUE(std::equal(some.scales(3 + row), some.scales(4 + row), all.scales(11 + row)));
    }
    EXPECT_EQ(some.codes(0)[0], 0) << "rows that were not asked for stay as they are";
  }
}

TEST(Inputs, FollowTheLayoutOfTheProblem) {
  // a_trans[k][row] = a[row][k] and b[k][column] = b_trans[column][k]; scales stay canonical.
  for (const auto& [op, name] : kEnumNames<OperatorKind>) {
    Problem problem = problem_of(op);
    const Operands plain = make_operands(problem, {}, 1);
    problem.trans_a = problem.trans_b = true;
    const Operands turned = make_operands(problem, {}, 1);
    const Shapes held = shapes_of(problem, 1);
    ASSERT_EQ(plain.a_codes.size(), static_cast<std::size_t>(held.a_rows * held.a_k));
    ASSERT_EQ(plain.b_codes.size(), static_cast<std::size_t>(held.b_columns * held.b_k));
    for (std::int64_t row = 0; row < held.a_rows; ++row) {
      for (std::int64_t k = 0; k < held.a_k; ++k) {
        ASSERT_EQ(turned.a_codes[k * held.a_rows + row], plain.a_codes[row * held.a_k + k]);
      }
    }
    for (std::int64_t column = 0; column < held.b_columns; ++column) {
      for (std::int64_t k = 0; k < held.b_k; ++k) {
        ASSERT_EQ(turned.b_codes[column * held.b_k + k],
                  plain.b_codes[k * held.b_columns + column]);
      }
    }
    EXPECT_EQ(turned.a_scales, plain.a_scales);
    EXPECT_EQ(turned.b_scales, plain.b_scales);
    EXPECT_NE(plain.a_codes, turned.a_codes) << name;
  }
}

TEST(NormalInputs, AreQuantisedStandardNormalValues) {
  Problem problem{.op = all_gather_matmul, .ranks = 2, .m = 64, .n = 8, .k = 1000};
  MxRows rows(problem.dtype_a, problem.m, problem.k);
  make_generator(problem, {})->fill_a(1, {0, problem.m}, rows, 0);
  std::vector<float> values(static_cast<std::size_t>(problem.m * problem.k));
  dequantise_rows(rows.view(), values.data(), problem.k);
  double sum = 0;
  double squares = 0;
  for (const float value : values) {
    sum += value;
    squares += value * value;
  }
  const double count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0.0, 0.02);
  EXPECT_NEAR(squares / count, 1.0, 0.02);
}

TEST(CodedInputs, SpellTheirRankAndRow) {
  // Digit k mod 12 of (row mod 8, rank, row / 8 …), turned by k / 12, plus 1.
  Problem problem{.op = all_gather_matmul, .ranks = 64, .m = 700, .n = 8, .k = 40};
  for (const ElementFormat format : {ElementFormat::e4m3, ElementFormat::e5m2}) {
    problem.dtype_a = format;
    const auto source = make_generator(problem, {.kind = InputKind::coded});
    std::set<std::string> seen;
    for (const int rank : {0, 1, 9, 63}) {
      MxRows rows(format, problem.m, problem.k);
      source->fill_a(rank, {0, problem.m}, rows, 0);
      for (std::int64_t row = 0; row < problem.m; ++row) {
        EXPECT_TRUE(seen.emplace(rows.codes(row), rows.codes(row) + 12).second);
        std::int64_t digits[12];
        for (int k = 24; k < 36; ++k) {  // another window of twelve says the same
          const float value = format_traits(format).values[rows.codes(row)[k]];
          ASSERT_TRUE(value >= 1 && value <= 8 && value == std::floor(value));
          digits[k - 24] = (static_cast<std::int64_t>(value) - 1 - k / 12 + 16) % 8;
        }
        EXPECT_EQ(digits[1] + 8 * digits[2], rank);
        std::int64_t spelled = 0;
        for (int digit = 11; digit >= 3; --digit) spelled = spelled * 8 + digits[digit];
        EXPECT_EQ(spelled * 8 + digits[0], row);
        if (row > 0) {
          EXPECT_NE(rows.scales(row)[0], rows.scales(row - 1)[0]);
        }
        EXPECT_NE(rows.scales(row)[0], rows.scales(row)[1]);
      }
    }
  }
}

TEST(UpstreamInputs, AreInTheRangesOfTheOriginalTests) {
  Problem problem{.op = all_gather_matmul, .ranks = 2, .m = 20, .n = 8, .k = 96};
  MxRows rows(problem.dtype_a, problem.m, problem.k);
  make_generator(problem, {.kind = InputKind::upstream})->fill_a(0, {0, problem.m}, rows, 0);
  std::set<float> values;
  std::set<int> scales;
  for (std::int64_t row = 0; row < problem.m; ++row) {
    for (std::int64_t k = 0; k < problem.k; ++k) {
      values.insert(format_traits(problem.dtype_a).values[rows.codes(row)[k]]);
    }
    for (int group = 0; group < 3; ++group) scales.insert(rows.scales(row)[group]);
    EXPECT_EQ(rows.scales(row)[3], 0) << "the pad byte";
  }
  EXPECT_EQ(values.size(), 25u) << "1 to 8 in steps of an eighth of the binade, both ends";
  EXPECT_EQ(*values.begin(), 1.0f);
  EXPECT_EQ(*values.rbegin(), 8.0f);
  EXPECT_EQ(scales, (std::set<int>{127, 128}));
}

}  // namespace
}  // namespace tandem
