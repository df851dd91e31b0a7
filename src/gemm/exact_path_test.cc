// SPDX-License-Identifier: Apache-2.0
// docs/numerics.md section 4: which elements take the exact path is a property of (row, column,
// segment), and the others don't notice.
#include "gemm/test_operands.h"

namespace tandem::gemm {
namespace {

constexpr std::int64_t kM = 19, kN = 45, kK = 150;

enum class Plant { large_scale, largest_scale, nan_scale, nan_code, infinity_code };
constexpr Plant kPlants[] = {Plant::large_scale, Plant::largest_scale, Plant::nan_scale,
                             Plant::nan_code, Plant::infinity_code};

void plant(Operand& operand, std::int64_t row, Plant what, std::int64_t k) {
  const bool is_e4m3 = operand.view().format == ElementFormat::e4m3;
  switch (what) {
    case Plant::large_scale:
      operand.scale(row, k / kGroup) = is_e4m3 ? 247 : 240;
      return;
    case Plant::largest_scale:
      operand.scale(row, k / kGroup) = 254;
      return;
    case Plant::nan_scale:
      operand.scale(row, k / kGroup) = 0xFF;
      return;
    case Plant::nan_code:
      operand.code(row, k) = 0xFF;
      return;
    case Plant::infinity_code:
      operand.code(row, k) = 0xFC;  // finite in E4M3
      return;
  }
}

void check(const Operand& a, const Operand& b, SumOrder order) {
  const std::int64_t m = a.view().rows, n = b.view().rows;
  Rng rng(3);
  Results stored(m, n);
  stored.fill_random(rng);
  Results expected = stored;
  accumulate_reference(a.view(), b.view(), order, expected.data(), expected.pitch());
  Results expected_from_zero(m, n);
  expected_from_zero.fill(0.0f);
  accumulate_reference(a.view(), b.view(), order, expected_from_zero.data(),
                       expected_from_zero.pitch());
  for_each_target([&] {
    Results results = stored;
    multiply_tile(a.view(), b.view(), order, Start::from_stored, results);
    ASSERT_TRUE(results.equals(expected));
    results.fill(std::numeric_limits<float>::infinity());
    multiply_tile(a.view(), b.view(), order, Start::from_zero, results);
    ASSERT_TRUE(results.equals(expected_from_zero));
  });
}

// One special byte in one row of A, in one column of B, in both.
TEST(ExactPath, SingleRowsAndColumns) {
  for (SumOrder order : kOrders) {
    for (ElementFormat format_a : kFormats) {
      for (ElementFormat format_b : kFormats) {
        for (Plant what : kPlants) {
          for (std::int64_t k : {std::int64_t{0}, std::int64_t{77}, kK - 1}) {
            Rng rng(29);
            Operand a = Operand::random(format_a, kM, kK, 2, rng);
            Operand b = Operand::random(format_b, kN, kK, 2, rng);
            SCOPED_TRACE(::testing::Message() << "plant " << static_cast<int>(what) << " k " << k);
            plant(a, 7, what, k);
            check(a, b, order);
            plant(b, 33, what, k);
            check(a, b, order);
            plant(b, 32, what, 0);
            plant(a, kM - 1, Plant::large_scale, k);
            check(a, b, order);
            if (::testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

// A NaN row leaves every other row finite.
TEST(ExactPath, NeighboursStayFinite) {
  for (SumOrder order : kOrders) {
    Rng rng(31);
    Operand a = Operand::random(ElementFormat::e4m3, kM, kK, 2, rng);
    Operand b = Operand::random(ElementFormat::e4m3, kN, kK, 2, rng);
    plant(a, 7, Plant::nan_code, 11);
    plant(b, 20, Plant::nan_scale, 149);
    for_each_target([&] {
      Results results(kM, kN);
      multiply_tile(a.view(), b.view(), order, Start::from_zero, results);
      for (std::int64_t i = 0; i < kM; ++i) {
        for (std::int64_t j = 0; j < kN; ++j) {
          ASSERT_EQ(std::isnan(results.at(i, j)), i == 7 || j == 20) << i << ", " << j;
        }
      }
    });
  }
}

// 2^127 · 2^-127 · 1.5 · 1.75: FP32 operands would be infinite, the product is 2.625.
TEST(ExactPath, LargeTimesSmallIsNotInfinite) {
  Operand a(ElementFormat::e5m2, 1, 32, 0);
  Operand b(ElementFormat::e5m2, 1, 32, 0);
  for (std::int64_t i = 0; i < 32; ++i) a.code(0, i) = b.code(0, i) = 0;
  a.code(0, 3) = 0x3E;  // 1.5
  b.code(0, 3) = 0x3F;  // 1.75
  a.scale(0, 0) = 254;
  b.scale(0, 0) = 0;
  for (SumOrder order : kOrders) {
    for_each_target([&] {
      Results results(1, 1);
      multiply_tile(a.view(), b.view(), order, Start::from_zero, results);
      ASSERT_EQ(results.at(0, 0), 2.625f);
    });
  }
}

// The last scale bytes of the fast path and the first of the exact one, all elements at once.
TEST(ExactPath, AllRowsOrAllColumnsAtTheLimit) {
  for (SumOrder order : kOrders) {
    for (ElementFormat format : kFormats) {
      for (int beyond = 0; beyond < 2; ++beyond) {
        Rng rng(37);
        Operand a = Operand::random(format, 7, 64, 0, rng);
        const Operand b = Operand::random(format, 18, 64, 0, rng);
        const int limit = format == ElementFormat::e4m3 ? 246 : 239;
        for (std::int64_t row = 0; row < 7; ++row) {
          a.scale(row, row % 2) = static_cast<std::uint8_t>(limit + beyond);
        }
        check(a, b, order);
        check(b, a, order);
      }
    }
  }
}

// A mark in one segment leaves the same row and column of another segment on the fast path.
TEST(ExactPath, IsAPropertyOfTheSegment) {
  for (SumOrder order : kOrders) {
    Rng rng(41);
    std::vector<Operand> a, b;
    for (int s = 0; s < 3; ++s) {
      a.push_back(Operand::random(ElementFormat::e4m3, kM, 64, 0, rng));
      b.push_back(Operand::random(ElementFormat::e4m3, kN, 64, 0, rng));
    }
    plant(a[1], 4, Plant::large_scale, 0);
    plant(b[2], 40, Plant::large_scale, 63);
    Results expected(kM, kN);
    expected.fill(0.0f);
    std::vector<MxMatrix> views;
    for (std::size_t s = 0; s < 3; ++s) {
      accumulate_reference(a[s].view(), b[s].view(), order, expected.data(), expected.pitch());
      views.push_back(b[s].view());
    }
    for_each_target([&] {
      const PackedWeights weights(views);
      PackedRows rows;
      Results results(kM, kN);
      for (int s = 0; s < 3; ++s) {
        const MxMatrix part = a[static_cast<std::size_t>(s)].view();
        rows.pack(std::span(&part, 1), order);
        // Two tiles, the second beginning inside a panel.
        const Start start = s == 0 ? Start::from_zero : Start::from_stored;
        multiply(rows, weights, s, 0, 21, order, start, results.accumulators(), kNoPause);
        multiply(rows, weights, s, 21, kN - 21, order, start,
                 {results.data() + 21, results.pitch()}, kNoPause);
      }
      ASSERT_TRUE(results.equals(expected));
    });
  }
}

}  // namespace
}  // namespace tandem::gemm
