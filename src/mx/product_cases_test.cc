// SPDX-License-Identifier: Apache-2.0
// The products of the edge-case table, in both orders.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "mx/bf16.h"
#include "mx/operand_for_test.h"
#include "mx/reference_product.h"

namespace tandem {
namespace {

using enum ElementFormat;

// bf16 of every element of A·Bᵀ from +0.
std::vector<std::uint16_t> product(const Operand& a, const Operand& b, SumOrder order) {
  const MxMatrix view_a = a.view();
  const MxMatrix view_b = b.view();
  std::vector<float> sums(view_a.rows * view_b.rows);
  accumulate_reference(view_a, view_b, order, sums.data(), view_b.rows);
  std::vector<std::uint16_t> out;
  for (float sum : sums) out.push_back(encode_bf16(sum));
  return out;
}

bool is_nan(std::uint16_t code) { return std::isnan(decode_bf16(code)); }

class ProductCases : public testing::TestWithParam<SumOrder> {
 protected:
  // One term: the code and the scale byte of a, and of b.
  static std::uint16_t single_term(ElementFormat format, std::uint8_t code_a, std::uint8_t scale_a,
                                   std::uint8_t code_b, std::uint8_t scale_b) {
    Operand a(format, 1, 32);
    Operand b(format, 1, 32);
    a.code(0, 0) = code_a;
    a.scale(0, 0) = scale_a;
    b.code(0, 0) = code_b;
    b.scale(0, 0) = scale_b;
    return product(a, b, GetParam())[0];
  }

  static void fill(Operand& operand, std::uint8_t code) {
    const MxMatrix view = operand.view();
    for (std::int64_t i = 0; i < view.rows; ++i) {
      for (std::int64_t k = 0; k < view.k; ++k) operand.code(i, k) = code;
    }
  }
};

TEST_P(ProductCases, T41LargeTimesSmallScaleIsFinite) {
  EXPECT_EQ(single_term(e4m3, 0x7E, 0xFE, 0x01, 0x00), 0x3F60);
}

TEST_P(ProductCases, T42LargeTimesSmallScaleIsFiniteInE5m2) {
  EXPECT_EQ(single_term(e5m2, 0x7B, 0xFE, 0x01, 0x00), 0x3F60);
}

TEST_P(ProductCases, T43SubnormalsTimesASmallScale) {
  Operand a(e4m3, 1, 32);
  Operand b(e4m3, 1, 32);
  fill(a, 0x01);
  fill(b, 0x78);
  a.scale(0, 0) = 0x00;
  b.scale(0, 0) = 0xE3;
  EXPECT_EQ(product(a, b, GetParam())[0], 0x3400);
}

TEST_P(ProductCases, T44ASubnormalResultIsKept) {
  EXPECT_EQ(single_term(e4m3, 0x38, 0x00, 0x38, 0x7F), 0x0040);
}

TEST_P(ProductCases, T45TheLargestTermStaysFinite) {
  for (int scale : {128, 182, 200}) {
    const std::uint8_t scale_a = static_cast<std::uint8_t>(scale);
    const std::uint8_t scale_b = static_cast<std::uint8_t>(364 - scale);
    EXPECT_EQ(single_term(e4m3, 0x7E, scale_a, 0x7E, scale_b), 0x7F44) << scale;
  }
}

TEST_P(ProductCases, T46NanTimesZerosIsNan) {
  EXPECT_TRUE(is_nan(single_term(e4m3, 0x7F, 127, 0x00, 127)));
  EXPECT_TRUE(is_nan(single_term(e5m2, 0x7F, 127, 0x00, 127)));
}

TEST_P(ProductCases, T47NanScaleOfZerosIsNan) {
  EXPECT_TRUE(is_nan(single_term(e4m3, 0x00, 0xFF, 0x38, 127)));
  EXPECT_TRUE(is_nan(single_term(e5m2, 0x00, 0xFF, 0x3C, 127)));
  EXPECT_TRUE(is_nan(single_term(e4m3, 0x38, 127, 0x00, 0xFF)));
}

TEST_P(ProductCases, T48InfinityFollowsIeee) {
  Operand a(e5m2, 1, 32);
  Operand b(e4m3, 1, 32);
  a.code(0, 0) = 0x7C;
  b.code(0, 0) = 0x38;
  EXPECT_EQ(product(a, b, GetParam())[0], 0x7F80);
  b.code(0, 0) = 0x00;
  EXPECT_TRUE(is_nan(product(a, b, GetParam())[0]));
}

TEST_P(ProductCases, T49ATailDoesNotReadTheNextRow) {
  // Without a gap the bytes behind row 0 are row 1's.
  Operand a(e4m3, 2, 33, 0);
  Operand b(e4m3, 1, 33, 0);
  fill(a, 0x38);
  fill(b, 0x38);
  for (int k = 0; k < 33; ++k) a.code(1, k) = 0x7F;
  const std::vector<std::uint16_t> out = product(a, b, GetParam());
  EXPECT_EQ(out[0], 0x4204);
  EXPECT_TRUE(is_nan(out[1]));
}

TEST_P(ProductCases, T50EveryGroupHasItsScale) {
  Operand a(e4m3, 1, 64);
  Operand b(e4m3, 1, 64);
  fill(a, 0x38);
  fill(b, 0x38);
  a.scale(0, 1) = 0x81;
  EXPECT_EQ(product(a, b, GetParam())[0], 0x4320);
  std::swap(a, b);
  EXPECT_EQ(product(a, b, GetParam())[0], 0x4320);
}

TEST_P(ProductCases, T51NegativeZeroTimesPositiveIsAZero) {
  EXPECT_EQ(single_term(e4m3, 0x80, 127, 0x38, 127) & 0x7FFF, 0);
}

// Σ 1·1·2^(scale − 127) over a short last group, pad scale bytes 0xFF and NaN codes behind the row.
TEST_P(ProductCases, TailsCountTheirElementsAndPadsAreNotRead) {
  for (std::int64_t k : {1, 33, 40, 48, 96}) {
    Operand a(e4m3, 3, k);
    Operand b(e5m2, 2, k);
    fill(a, 0x38);
    fill(b, 0x3C);
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t g = 0; g < a.groups(); ++g) {
        a.scale(i, g) = static_cast<std::uint8_t>(127 + 2 * i + g);
      }
    }
    std::vector<float> sums(6);
    accumulate_reference(a.view(), b.view(), GetParam(), sums.data(), 2);
    for (std::int64_t i = 0; i < 3; ++i) {
      double expected = 0;
      for (std::int64_t e = 0; e < k; ++e) {
        expected += std::ldexp(1.0, static_cast<int>(2 * i + e / 32));
      }
      EXPECT_EQ(sums[i * 2], expected) << k;
      EXPECT_EQ(sums[i * 2 + 1], expected) << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(BothOrders, ProductCases, testing::Values(SumOrder::panel, SumOrder::lane),
                         [](const auto& order) { return std::string(to_string(order.param)); });

}  // namespace
}  // namespace tandem
