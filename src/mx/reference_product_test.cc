// SPDX-License-Identifier: Apache-2.0
#include "mx/reference_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "mx/blocked_product.h"
#include "mx/operand_for_test.h"
#include "mx/output.h"

namespace tandem {
namespace {

using enum ElementFormat;

bool same_bits(float x, float y) {
  return bits_of(x) == bits_of(y) || (std::isnan(x) && std::isnan(y));
}

// The order of docs/numerics.md section 5, one element at a time, from the definition's values.
float naive_element(const Operand& a, std::int64_t i, const Operand& b, std::int64_t j,
                    SumOrder order, float accumulator) {
  const MxMatrix view_a = a.view();
  const MxMatrix view_b = b.view();
  if (needs_exact_path(view_a, i) || needs_exact_path(view_b, j)) {
    double sum = 0;
    for (std::int64_t first = 0; first < view_a.k; first += 32) {
      double dot = 0;
      for (std::int64_t k = first; k < std::min<std::int64_t>(first + 32, view_a.k); ++k) {
        dot += defined_value(view_a.format, view_a.row(i)[k]) *
               defined_value(view_b.format, view_b.row(j)[k]);
      }
      sum += dot * defined_scale(view_a.scale_row(i)[first / 32]) *
             defined_scale(view_b.scale_row(j)[first / 32]);
    }
    return accumulator + static_cast<float>(sum);
  }
  float lanes[16] = {};
  for (std::int64_t k = 0; k < view_a.k; ++k) {
    const float x = static_cast<float>(a.value(i, k));
    const float y = static_cast<float>(b.value(j, k));
    float& sum = order == SumOrder::panel ? accumulator : lanes[k % 16];
    sum = std::fma(x, y, sum);
  }
  if (order == SumOrder::panel) return accumulator;
  for (int half : {8, 4, 2, 1}) {
    for (int i2 = 0; i2 < half; ++i2) lanes[i2] += lanes[i2 + half];
  }
  return accumulator + lanes[0];
}

struct Case {
  std::int64_t m, n, k;
  ElementFormat format_a, format_b;
  int scale_low, scale_high;
};

// Shapes with K tails, columns beside the block of 64, several K blocks; the last rows of scales
// reach the subnormals, and the limits behind which the exact path begins.
const Case kCases[] = {
    {3, 5, 1, e4m3, e4m3, 120, 134},    {2, 3, 33, e4m3, e5m2, 120, 134},
    {9, 7, 40, e5m2, e4m3, 120, 134},   {4, 65, 48, e5m2, e5m2, 120, 134},
    {17, 64, 96, e4m3, e4m3, 120, 134}, {5, 130, 300, e4m3, e4m3, 110, 140},
    {8, 66, 128, e5m2, e4m3, 0, 12},    {6, 70, 160, e4m3, e4m3, 0, 246},
    {6, 70, 160, e5m2, e5m2, 0, 239},   {6, 67, 290, e4m3, e5m2, 0, 255},
    {3, 4, 257, e4m3, e4m3, 240, 254},  {1, 1, 1000, e4m3, e4m3, 125, 129},
};

Operand make_operand(ElementFormat format, std::int64_t rows, const Case& c, Rng& rng) {
  Operand operand(format, rows, c.k);
  operand.fill_codes(rng);
  operand.fill_scales(rng, c.scale_low, c.scale_high);
  return operand;
}

TEST(ReferenceProduct, BothOrdersEqualTheNaiveLoopOnEveryCase) {
  Rng rng(1);
  for (const Case& c : kCases) {
    const Operand a = make_operand(c.format_a, c.m, c, rng);
    const Operand b = make_operand(c.format_b, c.n, c, rng);
    const std::int64_t pitch = c.n + 3;
    for (SumOrder order : {SumOrder::panel, SumOrder::lane}) {
      SCOPED_TRACE(testing::Message() << c.m << "x" << c.n << "x" << c.k << " " << c.scale_low
                                      << " " << to_string(order));
      std::vector<float> start(c.m * pitch);
      for (float& value : start) value = rng.normal();
      std::vector<float> sums = start;
      accumulate_reference(a.view(), b.view(), order, sums.data(), pitch);
      for (std::int64_t i = 0; i < c.m; ++i) {
        for (std::int64_t j = 0; j < pitch; ++j) {
          const float old = start[i * pitch + j];
          const float expected = j < c.n ? naive_element(a, i, b, j, order, old) : old;
          ASSERT_TRUE(same_bits(sums[i * pitch + j], expected))
              << i << "," << j << ": " << sums[i * pitch + j] << " expected " << expected;
        }
      }
    }
  }
}

TEST(ReferenceProduct, TheAvx2LoopsGiveTheBaselinesBits) {
  if (avx2_loops() == nullptr) GTEST_SKIP() << "this machine or build has no AVX2";
  Rng rng(2);
  for (const Case& c : kCases) {
    const Operand a = make_operand(c.format_a, c.m, c, rng);
    const Operand b = make_operand(c.format_b, c.n, c, rng);
    const std::size_t count = static_cast<std::size_t>(c.m * c.n);
    for (SumOrder order : {SumOrder::panel, SumOrder::lane}) {
      std::vector<float> wide(count), narrow(count);
      accumulate_with(*avx2_loops(), a.view(), b.view(), order, wide.data(), c.n);
      accumulate_with(baseline_loops(), a.view(), b.view(), order, narrow.data(), c.n);
      for (std::size_t e = 0; e < count; ++e) ASSERT_TRUE(same_bits(wide[e], narrow[e])) << e;
    }
    std::vector<double> sums[2], magnitudes[2];
    for (int which : {0, 1}) {
      sums[which].resize(count);
      magnitudes[which].resize(count);
      accumulate_fp64_with(which == 0 ? *avx2_loops() : baseline_loops(), a.view(), b.view(),
                           sums[which].data(), magnitudes[which].data(), c.n);
    }
    for (std::size_t e = 0; e < count; ++e) {
      ASSERT_TRUE(sums[0][e] == sums[1][e] || std::isnan(sums[0][e])) << e;
      ASSERT_TRUE(magnitudes[0][e] == magnitudes[1][e] || std::isnan(magnitudes[0][e])) << e;
    }
  }
}

TEST(ReferenceProduct, TheTwoBuildsOfTheLoopsAreTwo) {
  EXPECT_STREQ(baseline_loops().name, "baseline");
  if (avx2_loops() != nullptr) {
    EXPECT_STREQ(avx2_loops()->name, "avx2");
    EXPECT_NE(avx2_loops()->panel, baseline_loops().panel);
    EXPECT_EQ(&best_loops(), avx2_loops());
  }
}

// sums = Σ a·b and magnitudes = Σ |a·b|, added onto what is there.
TEST(ReferenceProduct, Fp64SumsEqualTheNaiveOnes) {
  Rng rng(3);
  for (const Case& c : kCases) {
    if (c.scale_high == 255) continue;
    const Operand a = make_operand(c.format_a, c.m, c, rng);
    const Operand b = make_operand(c.format_b, c.n, c, rng);
    std::vector<double> sums(c.m * c.n, 3.0);
    std::vector<double> magnitudes(c.m * c.n, 5.0);
    accumulate_fp64(a.view(), b.view(), sums.data(), magnitudes.data(), c.n);
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        double sum = 3.0;
        double magnitude = 5.0;
        for (std::int64_t k = 0; k < c.k; ++k) {
          sum += a.value(i, k) * b.value(j, k);
          magnitude += std::fabs(a.value(i, k) * b.value(j, k));
        }
        ASSERT_EQ(sums[i * c.n + j], sum);
        ASSERT_EQ(magnitudes[i * c.n + j], magnitude);
      }
    }
  }
}

struct OutputBound {
  OutputType type;
  double unit;
  double tiny;
};

const OutputBound kBounds[] = {{OutputType::bf16, 0x1p-8, 0x1p-134},
                               {OutputType::fp16, 0x1p-11, 0x1p-25},
                               {OutputType::fp32, 0x1p-24, 0x1p-150}};

TEST(ReferenceProduct, KeepsTheErrorBoundAgainstFp64InBothOrders) {
  Rng rng(4);
  for (std::int64_t k : {1, 33, 40, 48, 96, 1024, 5000}) {
    const Case c{12, 70, k, e4m3, e5m2, 116, 124};
    const Operand a = make_operand(c.format_a, c.m, c, rng);
    const Operand b = make_operand(c.format_b, c.n, c, rng);
    std::vector<double> exact(c.m * c.n), magnitudes(c.m * c.n);
    accumulate_fp64(a.view(), b.view(), exact.data(), magnitudes.data(), c.n);
    for (SumOrder order : {SumOrder::panel, SumOrder::lane}) {
      std::vector<float> sums(c.m * c.n);
      accumulate_reference(a.view(), b.view(), order, sums.data(), c.n);
      for (std::size_t e = 0; e < sums.size(); ++e) {
        for (const OutputBound& bound : kBounds) {
          std::uint8_t stored[4];
          round_to(bound.type, sums[e], stored);
          const double out = widen(bound.type, stored);
          if (std::isinf(out)) continue;
          const double budget = bound.unit * std::fabs(exact[e]) +
                                static_cast<double>(k + 2) * 0x1p-24 * magnitudes[e] + bound.tiny;
          ASSERT_LE(std::fabs(out - exact[e]), budget) << k << " " << to_string(bound.type);
        }
      }
    }
  }
}

// Cutting K into segments that start at a group changes nothing in panel order.
TEST(ReferenceProduct, PanelOrderCarriesTheAccumulatorOverSegments) {
  Rng rng(5);
  const Case c{4, 9, 64 * 5 + 17, e4m3, e4m3, 120, 134};
  const Operand a = make_operand(e4m3, c.m, c, rng);
  const Operand b = make_operand(e4m3, c.n, c, rng);
  std::vector<float> whole(c.m * c.n), parts(c.m * c.n);
  accumulate_reference(a.view(), b.view(), SumOrder::panel, whole.data(), c.n);
  for (std::int64_t first : {0, 64, 192}) {
    const std::int64_t end = first == 0 ? 64 : first == 64 ? 192 : c.k;
    MxMatrix part_a = a.view();
    MxMatrix part_b = b.view();
    for (MxMatrix* part : {&part_a, &part_b}) {
      part->codes += first;
      part->scales += first / 32;
      part->k = end - first;
    }
    accumulate_reference(part_a, part_b, SumOrder::panel, parts.data(), c.n);
  }
  for (std::size_t e = 0; e < whole.size(); ++e) ASSERT_EQ(bits_of(whole[e]), bits_of(parts[e]));
}

TEST(ReferenceProduct, EmptyExtentsLeaveTheAccumulators) {
  for (SumOrder order : {SumOrder::panel, SumOrder::lane}) {
    const Operand a(e4m3, 2, 0);
    const Operand b(e4m3, 3, 0);
    std::vector<float> sums(6, 1.5f);
    accumulate_reference(a.view(), b.view(), order, sums.data(), 3);
    for (float sum : sums) EXPECT_EQ(sum, 1.5f);
    const Operand some(e4m3, 3, 32);
    const Operand none(e4m3, 0, 32);
    accumulate_reference(none.view(), some.view(), order, sums.data(), 3);
    accumulate_reference(some.view(), none.view(), order, sums.data(), 0);
    for (float sum : sums) EXPECT_EQ(sum, 1.5f);
  }
}

// fma(x, y, +0) of a tiny x·y < 0 rounds to -0; a lane sum is added to +0 and gives +0.
TEST(ReferenceProduct, ATermThatUnderflowsFromBelowLeavesMinusZeroInPanelOrderAlone) {
  Operand a(e4m3, 1, 1);
  Operand b(e4m3, 1, 1);
  a.code(0, 0) = 0x81;
  b.code(0, 0) = 0x01;
  a.scale(0, 0) = b.scale(0, 0) = 0;
  float panel = 0;
  float lane = 0;
  accumulate_reference(a.view(), b.view(), SumOrder::panel, &panel, 1);
  accumulate_reference(a.view(), b.view(), SumOrder::lane, &lane, 1);
  EXPECT_EQ(bits_of(panel), 0x80000000u);
  EXPECT_EQ(bits_of(lane), 0x00000000u);
}

TEST(ExactPath, IsAskedForByScalesAboveTheLimitAndByNanCodesOfE4m3) {
  for (ElementFormat format : {e4m3, e5m2}) {
    const int limit = format == e4m3 ? 246 : 239;
    for (std::int64_t k : {1, 40, 64, 96}) {
      for (std::int64_t g = 0; g < ceil_div(k, kGroup); ++g) {
        for (int scale = 0; scale < 256; ++scale) {
          Operand operand(format, 3, k);
          operand.scale(1, g) = static_cast<std::uint8_t>(scale);
          EXPECT_EQ(needs_exact_path(operand.view(), 1), scale > limit) << scale;
          EXPECT_FALSE(needs_exact_path(operand.view(), 0));
          EXPECT_FALSE(needs_exact_path(operand.view(), 2));
        }
      }
      for (int code = 0; code < 256; ++code) {
        Operand operand(format, 1, k);
        operand.code(0, k - 1) = static_cast<std::uint8_t>(code);
        EXPECT_EQ(needs_exact_path(operand.view(), 0), format == e4m3 && (code & 0x7F) == 0x7F);
      }
    }
  }
}

TEST(ExactPath, RoundsOnceWhereTheOrdinarySumWouldOverflow) {
  // 448·2^127 · 2^-9·2^-127 + 1·2^127 · 2^-127: both terms are beyond FP32 before they are scaled.
  Operand a(e4m3, 1, 33);
  Operand b(e4m3, 1, 33);
  a.code(0, 0) = 0x7E;
  a.code(0, 32) = 0x38;
  b.code(0, 0) = 0x01;
  b.code(0, 32) = 0x38;
  a.scale(0, 0) = a.scale(0, 1) = 0xFE;
  b.scale(0, 0) = b.scale(0, 1) = 0x00;
  EXPECT_EQ(exact_segment(a.view(), 0, b.view(), 0), 1.875f);
  a.scale(0, 1) = 0xFF;
  EXPECT_TRUE(std::isnan(exact_segment(a.view(), 0, b.view(), 0)));
}

#if defined(__x86_64__)
TEST(ReferenceProduct, IgnoresTheCallersFlushToZeroAndRestoresIt) {
  Operand a(e4m3, 1, 1);
  Operand b(e4m3, 1, 1);
  a.code(0, 0) = b.code(0, 0) = 0x38;
  a.scale(0, 0) = 0;
  constexpr unsigned kFlushAndDenormalsAreZero = 0x8040;
  const unsigned saved = _mm_getcsr();
  for (SumOrder order : {SumOrder::panel, SumOrder::lane}) {
    float sum = 0;
    _mm_setcsr(saved | kFlushAndDenormalsAreZero);
    accumulate_reference(a.view(), b.view(), order, &sum, 1);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(saved);
    EXPECT_EQ(bits_of(sum), 0x00400000u);
    EXPECT_EQ(after & kFlushAndDenormalsAreZero, kFlushAndDenormalsAreZero);
  }
}
#endif

}  // namespace
}  // namespace tandem
