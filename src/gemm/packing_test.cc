// SPDX-License-Identifier: Apache-2.0
// What surrounds the arithmetic: reuse of packed operands, pauses, the caller's floating-point
// state.
#include <gtest/gtest.h>

#include <utility>

#include "gemm/packed.h"
#include "gemm/test_operands.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace tandem::gemm {
namespace {

TEST(PackedWeights, CountsItsMemory) {
  Rng rng(1);
  const Operand b = Operand::random(ElementFormat::e4m3, 33, 70, 0, rng);
  const MxMatrix view = b.view();
  const PackedWeights weights(std::span(&view, 1));
  EXPECT_EQ(weights.columns(), 33);
  EXPECT_EQ(weights.segments(), 1);
  // Three panels of 16 columns in FP32, 33 rows of codes padded to 128 bytes, 4 scales, a mark
  // of each and of each panel.
  EXPECT_EQ(weights.bytes(), 3 * 16 * 70 * 4 + 33 * 128 + 33 * 4 + 33 + 3);
}

TEST(PackedWeights, MovesWithoutCopying) {
  Rng rng(2);
  const Operand a = Operand::random(ElementFormat::e4m3, 6, 64, 0, rng);
  const Operand b = Operand::random(ElementFormat::e4m3, 16, 64, 0, rng);
  const MxMatrix view_a = a.view(), view_b = b.view();
  PackedWeights first(std::span(&view_b, 1));
  const auto* impl = &first.impl();
  PackedWeights second(std::move(first));
  EXPECT_EQ(&second.impl(), impl);
  PackedRows rows;
  rows.pack(std::span(&view_a, 1), SumOrder::panel);
  Results results(6, 16), expected(6, 16);
  expected.fill(0.0f);
  accumulate_reference(view_a, view_b, SumOrder::panel, expected.data(), expected.pitch());
  multiply(rows, second, 0, 0, 16, SumOrder::panel, Start::from_zero, results.accumulators(),
           kNoPause);
  EXPECT_TRUE(results.equals(expected));
}

// The source of B may go or change after packing.
TEST(PackedWeights, OwnsWhatItNeeds) {
  Rng rng(3);
  const Operand a = Operand::random(ElementFormat::e4m3, 5, 40, 0, rng);
  Operand b = Operand::random(ElementFormat::e4m3, 20, 40, 0, rng);
  b.scale(3, 1) = 250;
  const MxMatrix view_a = a.view();
  for (SumOrder order : kOrders) {
    Operand copy = b;
    const MxMatrix view = copy.view();
    const PackedWeights weights(std::span(&view, 1));
    for (std::int64_t row = 0; row < 20; ++row) {
      for (std::int64_t i = 0; i < 40; ++i) copy.code(row, i) = 0x7F;
    }
    Results results(5, 20), expected(5, 20);
    expected.fill(0.0f);
    accumulate_reference(view_a, b.view(), order, expected.data(), expected.pitch());
    PackedRows rows;
    rows.pack(std::span(&view_a, 1), order);
    multiply(rows, weights, 0, 0, 20, order, Start::from_zero, results.accumulators(), kNoPause);
    EXPECT_TRUE(results.equals(expected));
  }
}

// Made for lane order they hold the codes alone, and give the same bits, the exact path included.
TEST(PackedWeights, ForLaneOrderHaveNoPanels) {
  Rng rng(23);
  for (const std::int64_t k : {40, 1000}) {
    Operand a = Operand::random(ElementFormat::e4m3, 5, k, 0, rng);
    Operand b = Operand::random(ElementFormat::e4m3, 33, k, 0, rng);
    b.scale(7, 0) = 250;
    const MxMatrix view_a = a.view(), view_b = b.view();
    const PackedWeights both(std::span(&view_b, 1));
    const PackedWeights codes(std::span(&view_b, 1), SumOrder::lane);
    EXPECT_LT(codes.bytes(), 33 * (k + 64) * 5 / 4);
    EXPECT_GT(both.bytes(), 33 * k * 3);
    PackedRows rows;
    rows.pack(std::span(&view_a, 1), SumOrder::lane);
    Results expected(5, 33), found(5, 33);
    multiply(rows, both, 0, 0, 33, SumOrder::lane, Start::from_zero, expected.accumulators(),
             kNoPause);
    multiply(rows, codes, 0, 0, 33, SumOrder::lane, Start::from_zero, found.accumulators(),
             kNoPause);
    EXPECT_TRUE(found.equals(expected));
    rows.pack(std::span(&view_a, 1), SumOrder::panel);
    EXPECT_DEATH(multiply(rows, codes, 0, 0, 33, SumOrder::panel, Start::from_zero,
                          found.accumulators(), kNoPause),
                 "lane order");
  }
}

// BF16 panels where every value is one, FP32 panels where the smallest scales make values that are
// not: with either the same bits as the reference, on each target.
TEST(PackedWeights, AreBf16WhereThatIsExact) {
  Rng rng(29);
  const std::int64_t m = 13, n = 40, k = 70;
  const Operand a = Operand::random(ElementFormat::e4m3, m, k, 100, rng);
  for (const ElementFormat format : {ElementFormat::e4m3, ElementFormat::e5m2}) {
    for (const bool tiny : {false, true}) {
      Operand b = Operand::random(format, n, k, 0, rng);
      b.raise_scales(kBf16Scale);
      if (tiny) b.scale(17, 1) = 0;
      b.code(17, 40) = 0x01;  // the smallest subnormal
      const MxMatrix view_a = a.view(), view_b = b.view();
      const PackedWeights weights(std::span(&view_b, 1));
      const WeightSegment& segment = weights.impl().segments[0];
      EXPECT_EQ(segment.has_pairs(), !tiny);
      EXPECT_EQ(segment.panels.size() > 0, tiny);
      Results expected(m, n);
      expected.fill(0.0f);
      accumulate_reference(view_a, view_b, SumOrder::panel, expected.data(), expected.pitch());
      for_each_target([&] {
        PackedRows rows;
        rows.pack(std::span(&view_a, 1), SumOrder::panel);
        Results results(m, n);
        multiply(rows, weights, 0, 0, n, SumOrder::panel, Start::from_zero, results.accumulators(),
                 kNoPause);
        EXPECT_TRUE(results.equals(expected));
      });
    }
  }
}

// A smaller tile after a larger one finds no trace of it, whatever order and marks it had.
TEST(PackedRows, AreReused) {
  Rng rng(5);
  const Operand b = Operand::random(ElementFormat::e4m3, 17, 96, 0, rng);
  const MxMatrix view_b = b.view();
  const PackedWeights weights(std::span(&view_b, 1));
  PackedRows rows;
  for (std::int64_t m : {64, 1, 13, 6, 40, 7}) {
    for (SumOrder order : kOrders) {
      Operand a = Operand::random(ElementFormat::e5m2, m, 96, 0, rng);
      if (m % 2 == 0) a.scale(m - 1, 2) = 0xFF;
      const MxMatrix view_a = a.view();
      rows.pack(std::span(&view_a, 1), order);
      Results results(m, 17), expected(m, 17);
      expected.fill(0.0f);
      accumulate_reference(view_a, view_b, order, expected.data(), expected.pitch());
      multiply(rows, weights, 0, 0, 17, order, Start::from_zero, results.accumulators(), kNoPause);
      EXPECT_TRUE(results.equals(expected)) << "m " << m;
    }
  }
}

// Operands packed by one target, multiplied by another: the layouts are the same.
TEST(SimdTargets, SharePackedOperands) {
  Rng rng(6);
  const Operand a = Operand::random(ElementFormat::e4m3, 13, 75, 0, rng);
  const Operand b = Operand::random(ElementFormat::e5m2, 50, 75, 0, rng);
  const MxMatrix view_a = a.view(), view_b = b.view();
  for (SumOrder order : kOrders) {
    Results expected(13, 50);
    expected.fill(0.0f);
    accumulate_reference(view_a, view_b, order, expected.data(), expected.pitch());
    for (const char* packer : simd_targets()) {
      force_simd_target(packer);
      PackedRows rows;
      rows.pack(std::span(&view_a, 1), order);
      const PackedWeights weights(std::span(&view_b, 1));
      for_each_target([&] {
        Results results(13, 50);
        multiply(rows, weights, 0, 0, 50, order, Start::from_zero, results.accumulators(),
                 kNoPause);
        ASSERT_TRUE(results.equals(expected)) << "packed by " << packer;
      });
    }
  }
  force_simd_target("");
}

// A product of some milliseconds pauses often, a small one never.
TEST(Pause, ComesAboutEvery100Microseconds) {
  Rng rng(8);
  const std::int64_t m = 144, n = 512, k = 2048;  // 302 MFLOP
  const Operand a = Operand::random(ElementFormat::e4m3, m, k, 0, rng);
  const Operand b = Operand::random(ElementFormat::e4m3, n, k, 0, rng);
  const MxMatrix view_a = a.view(), view_b = b.view();
  const PackedWeights weights(std::span(&view_b, 1));
  PackedRows rows;
  int pauses = 0;
  const std::function<void()> pause = [&] { ++pauses; };
  rows.pack(std::span(&view_a, 1), SumOrder::panel);
  Results results(m, n);
  multiply(rows, weights, 0, 0, n, SumOrder::panel, Start::from_zero, results.accumulators(),
           pause);
  EXPECT_GE(pauses, 20);
  EXPECT_LE(pauses, 10'000);
  pauses = 0;
  multiply(rows, weights, 0, 0, 32, SumOrder::panel, Start::from_zero, results.accumulators(),
           pause);
  const int small_tile = pauses;
  EXPECT_LE(small_tile, 10);
  const MxMatrix few = view_a.slice_rows(0, 4);
  rows.pack(std::span(&few, 1), SumOrder::lane);
  multiply(rows, weights, 0, 0, n, SumOrder::lane, Start::from_zero, results.accumulators(), pause);
  EXPECT_GE(pauses, small_tile + 1);
}

// The exact path is slow: it pauses too.
TEST(Pause, AlsoInsideTheExactPath) {
  Rng rng(9);
  Operand a = Operand::random(ElementFormat::e4m3, 1, 1024, 0, rng);
  a.scale(0, 0) = 250;
  const Operand b = Operand::random(ElementFormat::e4m3, 256, 1024, 0, rng);
  const MxMatrix view_a = a.view(), view_b = b.view();
  const PackedWeights weights(std::span(&view_b, 1));
  PackedRows rows;
  rows.pack(std::span(&view_a, 1), SumOrder::panel);
  int pauses = 0;
  Results results(1, 256);
  multiply(rows, weights, 0, 0, 256, SumOrder::panel, Start::from_zero, results.accumulators(),
           [&] { ++pauses; });
  EXPECT_GE(pauses, 5);
}

#if defined(__SSE__)

constexpr unsigned kHostile = 0x1F80 | 0x8040 | 0x4000;  // FTZ, DAZ, round up

// A caller with flush-to-zero and another rounding gets the same bits, its own state during a
// pause, and its own state back, also when a pause throws.
TEST(FloatingPointState, IsOursInsideAndTheCallersOutside) {
  Rng rng(10);
  Operand a = Operand::random(ElementFormat::e4m3, 13, 300, 0, rng);
  Operand b = Operand::random(ElementFormat::e5m2, 37, 300, 0, rng);
  for (std::int64_t row = 0; row < 13; ++row) {
    for (std::int64_t group = 0; group < 10; ++group) a.scale(row, group) = 70;
  }
  for (std::int64_t row = 0; row < 37; ++row) {
    for (std::int64_t group = 0; group < 10; ++group) {
      b.scale(row, group) = static_cast<std::uint8_t>(group);
    }
  }
  a.scale(2, 1) = 250;
  const MxMatrix view_a = a.view(), view_b = b.view();
  for (SumOrder order : kOrders) {
    Results expected(13, 37);
    expected.fill(0.0f);
    accumulate_reference(view_a, view_b, order, expected.data(), expected.pitch());
    std::int64_t subnormals = 0;
    for (std::int64_t i = 0; i < 13; ++i) {
      for (std::int64_t j = 0; j < 37; ++j) subnormals += !std::isnormal(expected.at(i, j));
    }
    EXPECT_GT(subnormals, 0);
    for_each_target([&] {
      Results results(13, 37);
      _mm_setcsr(kHostile);
      multiply_tile(view_a, view_b, order, Start::from_zero, results);
      const unsigned after = _mm_getcsr();
      _mm_setcsr(0x1F80);
      ASSERT_EQ(after, kHostile);
      ASSERT_TRUE(results.equals(expected));
    });
  }
}

TEST(FloatingPointState, IsTheCallersDuringAPause) {
  Rng rng(12);
  const Operand a = Operand::random(ElementFormat::e4m3, 144, 1024, 0, rng);
  const Operand b = Operand::random(ElementFormat::e4m3, 256, 1024, 0, rng);
  const MxMatrix view_a = a.view(), view_b = b.view();
  const PackedWeights weights(std::span(&view_b, 1));
  PackedRows rows;
  rows.pack(std::span(&view_a, 1), SumOrder::panel);
  Results results(144, 256), expected(144, 256);
  expected.fill(0.0f);
  accumulate_reference(view_a, view_b, SumOrder::panel, expected.data(), expected.pitch());
  int pauses = 0, foreign = 0;
  _mm_setcsr(kHostile);
  multiply(rows, weights, 0, 0, 256, SumOrder::panel, Start::from_zero, results.accumulators(),
           [&] {
             ++pauses;
             foreign += _mm_getcsr() != kHostile;
           });
  unsigned thrown_state = 0;
  try {
    multiply(rows, weights, 0, 0, 256, SumOrder::panel, Start::from_zero,
             Results(144, 256).accumulators(), [] { throw 1; });
  } catch (int) {
    thrown_state = _mm_getcsr();
  }
  _mm_setcsr(0x1F80);
  EXPECT_GT(pauses, 0);
  EXPECT_EQ(foreign, 0);
  EXPECT_EQ(thrown_state, kHostile);
  EXPECT_TRUE(results.equals(expected));
}

#endif

}  // namespace
}  // namespace tandem::gemm
