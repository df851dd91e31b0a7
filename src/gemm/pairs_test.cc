// SPDX-License-Identifier: Apache-2.0
// Products of pairs take subnormals for zeros: they are used where none can occur, and then they
// have the reference's bits. On machines without them the same operands go the other way.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gemm/packed.h"
#include "gemm/simd/pair_check.h"
#include "gemm/test_operands.h"

namespace tandem::gemm {
namespace {

constexpr int kCoarseFrom[] = {73, 80};  // scales of E4M3 and E5M2: 2^-9 and 2^-16 become 2^-63

bool packs_pairs(const Operand& a) {
  const MxMatrix view = a.view();
  PackedRows rows;
  rows.pack(std::span(&view, 1), SumOrder::panel);
  EXPECT_NE(rows.impl().has_pairs, rows.impl().has_blocks);
  return rows.impl().has_pairs;
}

TEST(Pairs, AreMadeOfRowsWithoutSmallValues) {
  const bool multiplies = kernels().multiplies_pairs;
  for (const ElementFormat format : kFormats) {
    Rng rng(3);
    Operand a = Operand::random(format, 7, 70, 0, rng);
    a.raise_scales(kCoarseScale);
    const int coarse = kCoarseFrom[static_cast<int>(format)];
    a.scale(3, 1) = static_cast<std::uint8_t>(coarse);
    EXPECT_EQ(packs_pairs(a), multiplies);
    a.scale(3, 1) = static_cast<std::uint8_t>(coarse - 1);
    EXPECT_FALSE(packs_pairs(a));
    // A group of zeros has the smallest scale.
    for (std::int64_t k = 32; k < 64; ++k) a.code(3, k) = k % 2 == 0 ? 0x00 : 0x80;
    a.scale(3, 1) = 0;
    EXPECT_EQ(packs_pairs(a), multiplies);
    a.scale(6, 2) = 0;
    for (std::int64_t k = 64; k < 70; ++k) a.code(6, k) = 0;
    EXPECT_EQ(packs_pairs(a), multiplies);
    a.code(6, 69) = 0x01;
    EXPECT_FALSE(packs_pairs(a));
  }
}

// Scales around the limit in both operands, and stored sums of every size: sums come near and below
// the smallest normal number.
Operand draw_small(ElementFormat format, std::int64_t rows, std::int64_t k, int below, Rng& rng) {
  Operand operand = Operand::random(format, rows, k, 0, rng);
  const int coarse = kCoarseFrom[static_cast<int>(format)];
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t group = 0; group < ceil_div(k, kGroup); ++group) {
      operand.scale(row, group) =
          static_cast<std::uint8_t>(coarse - below + static_cast<int>(rng.below(6)));
    }
    // Few values but small ones, so that sums cancel.
    for (std::int64_t i = 0; i < k; ++i) operand.code(row, i) &= 0x87;
  }
  return operand;
}

void draw_sums(Results& results, std::int64_t m, std::int64_t n, Rng& rng, int kind) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const int exponent = -149 + static_cast<int>(rng.below(60));
      const float value = std::ldexp(rng.below(2) == 0 ? 1.0f : -1.25f, exponent);
      const bool special = i == m / 2 && j == n / 2;
      results.at(i, j) = kind == 0   ? value
                         : kind == 1 ? (special ? -0.0f : 0.0f)
                                     : std::ldexp(value, 110);
    }
  }
}

TEST(Pairs, HaveTheReferencesBitsNearTheSmallestNumbers) {
  Rng rng(23);
  const std::int64_t m = 13, n = 37;
  for (int draw = 0; draw < 60; ++draw) {
    const ElementFormat format_a = kFormats[draw % 2], format_b = kFormats[draw / 2 % 2];
    const std::int64_t k = 1 + static_cast<std::int64_t>(rng.below(100));
    const int below = draw % 3 == 0 ? 4 : 0;
    const Operand a = draw_small(format_a, m, k, below, rng);
    const Operand b = draw_small(format_b, n, k, draw % 5 == 0 ? 4 : 0, rng);
    Results stored(m, n);
    draw_sums(stored, m, n, rng, draw / 3 % 3);
    for (const SumOrder order : kOrders) {
      Results expected = stored;
      accumulate_reference(a.view(), b.view(), order, expected.data(), expected.pitch());
      Results from_zero(m, n);
      from_zero.fill(0.0f);
      accumulate_reference(a.view(), b.view(), order, from_zero.data(), from_zero.pitch());
      for_each_target([&] {
        Results results = stored;
        multiply_tile(a.view(), b.view(), order, Start::from_stored, results);
        ASSERT_TRUE(results.equals(expected)) << "draw " << draw;
        multiply_tile(a.view(), b.view(), order, Start::from_zero, results);
        ASSERT_TRUE(results.equals(from_zero)) << "draw " << draw;
      });
    }
    if (HasFailure()) return;
  }
}

TEST(Pairs, SumsThatAreTooSmallAreSeenAtEveryPlace) {
  const float tiny[] = {-0.0f, std::numeric_limits<float>::denorm_min(), -0x1.fffffep-104f};
  const float others[] = {0.0f, kTinySum, -kTinySum, std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()};
  for (const Kernels* table : all_kernels()) {
    std::vector<float> sums;
    for (std::size_t count = 0; count < 40; ++count) {
      EXPECT_FALSE(table->has_tiny(sums.data(), static_cast<std::int64_t>(count))) << table->name;
      for (std::size_t at = 0; at < count; ++at) {
        for (const float value : tiny) {
          const float before = std::exchange(sums[at], value);
          EXPECT_TRUE(table->has_tiny(sums.data(), static_cast<std::int64_t>(count)))
              << table->name << ", " << value << " at " << at << " of " << count;
          sums[at] = before;
        }
      }
      sums.push_back(others[count % std::size(others)]);
    }
  }
}

// Rows that are packed once serve columns of either kind.
TEST(Pairs, RowsServeColumnsThatAreNotCoarseToo) {
  Rng rng(5);
  const std::int64_t m = 14, n = 50, k = 90;
  Operand a = Operand::random(ElementFormat::e4m3, m, k, 0, rng);
  Operand b = Operand::random(ElementFormat::e4m3, n, k, 0, rng);
  a.raise_scales(kCoarseScale);
  b.raise_scales(kCoarseScale);
  b.scale(20, 1) = kBf16Scale;
  b.code(20, 40) = 0x01;
  const MxMatrix view_a = a.view(), view_b = b.view();
  Results expected(m, n);
  expected.fill(0.0f);
  accumulate_reference(view_a, view_b, SumOrder::panel, expected.data(), expected.pitch());
  for_each_target([&] {
    const PackedWeights weights(std::span(&view_b, 1));
    EXPECT_TRUE(weights.impl().segments[0].is_coarse(0, 16));
    EXPECT_FALSE(weights.impl().segments[0].is_coarse(15, 2));
    EXPECT_TRUE(weights.impl().segments[0].is_coarse(32, 18));
    PackedRows rows;
    rows.pack(std::span(&view_a, 1), SumOrder::panel);
    Results results(m, n);
    const Accumulators all = results.accumulators();
    for (const auto& [first, count] : {std::pair{0, 16}, {16, 16}, {32, 18}}) {
      multiply(rows, weights, 0, first, count, SumOrder::panel, Start::from_zero,
               {all.values + first, all.pitch}, kNoPause);
    }
    EXPECT_TRUE(results.equals(expected));
  });
}

// Every code with every kind of code, infinities and NaNs among them: exponents that a scale is
// added to must not run over.
TEST(Pairs, HaveTheReferencesBitsForEveryCode) {
  for (const ElementFormat format_a : kFormats) {
    for (const ElementFormat format_b : kFormats) {
      const std::int64_t m = 8, n = 256, k = 64;
      Rng rng(41);
      Operand a = Operand::random(format_a, m, k, 0, rng);
      Operand b(format_b, n, k, 0);
      for (std::int64_t column = 0; column < n; ++column) {
        for (std::int64_t i = 0; i < k; ++i) {
          // Columns from 128 on hold but one such code, the others it and its neighbours.
          const std::int64_t code = column < 128 || i == column % k ? column + i % 3 : i;
          b.code(column, i) = static_cast<std::uint8_t>(code);
        }
        for (std::int64_t group = 0; group < 2; ++group) {
          b.scale(column, group) = static_cast<std::uint8_t>(80 + (column * 7 + group * 31) % 160);
        }
      }
      for (std::int64_t row = 0; row < m; ++row) {
        for (std::int64_t group = 0; group < 2; ++group) {
          a.scale(row, group) = static_cast<std::uint8_t>(80 + (row * 61 + group * 97) % 160);
        }
        // Infinities and NaNs of E5M2, the largest numbers and NaN of E4M3.
        if (row >= 4) a.code(row, 9 * row) = static_cast<std::uint8_t>(0x7C + row % 4);
      }
      const MxMatrix view_a = a.view(), view_b = b.view();
      for (const SumOrder order : kOrders) {
        Results expected(m, n);
        expected.fill(0.0f);
        accumulate_reference(view_a, view_b, order, expected.data(), expected.pitch());
        for_each_target([&] {
          const PackedWeights weights(std::span(&view_b, 1));
          PackedRows rows;
          rows.pack(std::span(&view_a, 1), order);
          Results results(m, n);
          const Accumulators all = results.accumulators();
          // Panel by panel: one with an infinity is not multiplied as pairs.
          for (std::int64_t first = 0; first < n; first += kPanelColumns) {
            multiply(rows, weights, 0, first, kPanelColumns, order, Start::from_zero,
                     {all.values + first, all.pitch}, kNoPause);
          }
          EXPECT_TRUE(results.equals(expected));
        });
      }
    }
  }
}

// A machine that adds the second of a pair first.
void other_order(const PanelStep& step) {
  std::vector<std::uint32_t> rows(step.row_pairs, step.row_pairs + kPanelRows * kBlock);
  alignas(64) std::uint32_t columns[kBlock * kPanelColumns];
  std::copy_n(step.column_pairs, std::size(columns), columns);
  const auto swap = [](std::uint32_t& pair) { pair = pair << 16 | pair >> 16; };
  std::for_each(rows.begin(), rows.end(), swap);
  std::for_each(std::begin(columns), std::end(columns), swap);
  PanelStep swapped = step;
  swapped.row_pairs = rows.data();
  swapped.column_pairs = columns;
  kernels().panel_step(swapped);
}

TEST(Pairs, OfAMachineThatSumsOtherwiseAreNotUsed) {
  if (!kernels().multiplies_pairs) GTEST_SKIP() << "this machine has no products of pairs";
  Kernels table = kernels();
  EXPECT_TRUE(pairs_sum_in_order(table));
  table.panel_step = other_order;
  EXPECT_FALSE(pairs_sum_in_order(table));
}

}  // namespace
}  // namespace tandem::gemm
