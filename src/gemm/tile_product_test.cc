// SPDX-License-Identifier: Apache-2.0
// Every test: result = the scalar reference's bits, on each SIMD target.
#include "gemm/tile_product.h"

#include "gemm/test_operands.h"

namespace tandem::gemm {
namespace {

constexpr std::int64_t kExtents[] = {1, 5, 6, 7, 13, 16, 17, 37, 64, 145};
constexpr std::int64_t kDepths[] = {0, 1, 31, 32, 33, 40, 63, 64, 65, 96, 300, 1000};

// One shape: from zero over poison, then carried on from stored values.
void check_shape(std::int64_t m, std::int64_t n, std::int64_t k, ElementFormat format_a,
                 ElementFormat format_b, SumOrder order, Rng& rng, std::uint8_t scale_min = 0) {
  Operand a = Operand::random(format_a, m, k, 5, rng);
  Operand b = Operand::random(format_b, n, k, 9, rng);
  b.raise_scales(scale_min);
  const bool coarse = scale_min >= kCoarseScale;
  if (coarse) a.raise_scales(scale_min);
  Results stored(m, n);
  stored.fill_random(rng, !coarse);
  Results from_zero(m, n);
  from_zero.fill(0.0f);
  Results from_stored = stored;
  accumulate_reference(a.view(), b.view(), order, from_zero.data(), from_zero.pitch());
  accumulate_reference(a.view(), b.view(), order, from_stored.data(), from_stored.pitch());
  for_each_target([&] {
    Results results(m, n);
    results.fill(std::numeric_limits<float>::quiet_NaN());
    multiply_tile(a.view(), b.view(), order, Start::from_zero, results);
    ASSERT_TRUE(results.equals(from_zero));
    results = stored;
    multiply_tile(a.view(), b.view(), order, Start::from_stored, results);
    ASSERT_TRUE(results.equals(from_stored));
  });
}

void check_shapes(ElementFormat format_a, ElementFormat format_b, SumOrder order) {
  Rng rng(7);
  for (std::int64_t m : kExtents) {
    // Lane order is for few rows; a larger count must still be right.
    if (order == SumOrder::lane && m > 37) continue;
    for (std::int64_t n : kExtents) {
      for (std::int64_t k : kDepths) {
        SCOPED_TRACE(::testing::Message() << "m " << m << " n " << n << " k " << k << " seed 7");
        check_shape(m, n, k, format_a, format_b, order, rng);
        for (const std::uint8_t scale_min : {kBf16Scale, kCoarseScale}) {
          if (order == SumOrder::lane && scale_min == kBf16Scale) continue;
          check_shape(m, n, k, format_a, format_b, order, rng, scale_min);
        }
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(TileProduct, PanelOrderHasTheReferencesBitsE4m3E4m3) {
  check_shapes(ElementFormat::e4m3, ElementFormat::e4m3, SumOrder::panel);
}
TEST(TileProduct, PanelOrderHasTheReferencesBitsE4m3E5m2) {
  check_shapes(ElementFormat::e4m3, ElementFormat::e5m2, SumOrder::panel);
}
TEST(TileProduct, PanelOrderHasTheReferencesBitsE5m2E4m3) {
  check_shapes(ElementFormat::e5m2, ElementFormat::e4m3, SumOrder::panel);
}
TEST(TileProduct, PanelOrderHasTheReferencesBitsE5m2E5m2) {
  check_shapes(ElementFormat::e5m2, ElementFormat::e5m2, SumOrder::panel);
}
TEST(TileProduct, LaneOrderHasTheReferencesBitsE4m3E4m3) {
  check_shapes(ElementFormat::e4m3, ElementFormat::e4m3, SumOrder::lane);
}
TEST(TileProduct, LaneOrderHasTheReferencesBitsE4m3E5m2) {
  check_shapes(ElementFormat::e4m3, ElementFormat::e5m2, SumOrder::lane);
}
TEST(TileProduct, LaneOrderHasTheReferencesBitsE5m2E4m3) {
  check_shapes(ElementFormat::e5m2, ElementFormat::e4m3, SumOrder::lane);
}
TEST(TileProduct, LaneOrderHasTheReferencesBitsE5m2E5m2) {
  check_shapes(ElementFormat::e5m2, ElementFormat::e5m2, SumOrder::lane);
}

// More than one stretch of k and block of columns, with ends of every kind: partial sums that are
// stored and taken up again don't change bits.
TEST(TileProduct, StretchesOfLaneOrderKeepTheBits) {
  Rng rng(19);
  const auto e4m3 = ElementFormat::e4m3, e5m2 = ElementFormat::e5m2;
  for (const std::int64_t k : {1025, 2048, 4110, 4127, 9001}) {
    for (const auto& [m, n] : {std::pair{1, 131}, {2, 64}, {3, 65}, {8, 129}, {11, 3}}) {
      SCOPED_TRACE(::testing::Message() << "m " << m << " n " << n << " k " << k << " seed 19");
      for (const std::uint8_t scale_min : {std::uint8_t{0}, kCoarseScale}) {
        check_shape(m, n, k, e4m3, k % 2 == 0 ? e4m3 : e5m2, SumOrder::lane, rng, scale_min);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// More than one block of rows, columns and k: the carried sums don't change bits.
TEST(TileProduct, BlockingKeepsTheBits) {
  Rng rng(11);
  const std::int64_t m = 301, n = 531, k = 1111;
  Operand a = Operand::random(ElementFormat::e4m3, m, k, 0, rng);
  Operand b = Operand::random(ElementFormat::e5m2, n, k, 0, rng);
  for (const std::uint8_t scale_min : {std::uint8_t{0}, kBf16Scale, kCoarseScale}) {
    b.raise_scales(scale_min);
    if (scale_min == kCoarseScale) a.raise_scales(scale_min);
    Results expected(m, n);
    expected.fill(0.0f);
    accumulate_reference(a.view(), b.view(), SumOrder::panel, expected.data(), expected.pitch());
    Results results(m, n);
    for (const char* target : simd_targets()) {
      if (std::string(target) == "portable") continue;
      force_simd_target(target);
      results.fill(std::numeric_limits<float>::quiet_NaN());
      multiply_tile(a.view(), b.view(), SumOrder::panel, Start::from_zero, results);
      EXPECT_TRUE(results.equals(expected)) << target;
    }
    force_simd_target("");
  }
}

// Columns [first, first + count) of a wider B, wherever they begin and end.
TEST(TileProduct, AnyRangeOfColumnsIsTheSameRangeOfTheProduct) {
  Rng rng(13);
  const std::int64_t m = 13, n = 83, k = 70;
  Operand a = Operand::random(ElementFormat::e5m2, m, k, 1, rng);
  Operand b = Operand::random(ElementFormat::e4m3, n, k, 1, rng);
  a.raise_scales(kCoarseScale);
  b.raise_scales(kCoarseScale);
  const MxMatrix view_a = a.view();
  const MxMatrix view_b = b.view();
  for (SumOrder order : kOrders) {
    for_each_target([&] {
      PackedRows rows;
      rows.pack(std::span(&view_a, 1), order);
      const PackedWeights weights(std::span(&view_b, 1));
      for (std::int64_t first = 0; first <= n; first += 1 + first % 5) {
        for (std::int64_t count = 0; first + count <= n; count += 1 + count % 7) {
          Results expected(m, count);
          expected.fill(0.0f);
          accumulate_reference(view_a, view_b.slice_rows(first, count), order, expected.data(),
                               expected.pitch());
          Results results(m, count);
          multiply(rows, weights, 0, first, count, order, Start::from_zero, results.accumulators(),
                   kNoPause);
          ASSERT_TRUE(results.equals(expected)) << "first " << first << " count " << count;
        }
      }
    });
  }
}

// acc = ((0 + segment 2) + segment 0) + segment 1: segments in any order, each with its own k.
TEST(TileProduct, SegmentsAreCarriedOn) {
  const std::int64_t m = 7, n = 37;
  const std::int64_t depths[] = {64, 0, 40, 128, 1};
  for (SumOrder order : kOrders) {
    Rng rng(17);
    std::vector<Operand> a, b;
    std::vector<MxMatrix> views;
    for (std::int64_t k : depths) {
      a.push_back(Operand::random(ElementFormat::e4m3, m, k, 3, rng));
      b.push_back(Operand::random(ElementFormat::e5m2, n, k, 3, rng));
    }
    for (const Operand& operand : b) views.push_back(operand.view());
    Results expected(m, n);
    expected.fill(0.0f);
    const int sequence[] = {2, 0, 1, 4, 3};
    for (int s : sequence) {
      const auto index = static_cast<std::size_t>(s);
      accumulate_reference(a[index].view(), b[index].view(), order, expected.data(),
                           expected.pitch());
    }
    for_each_target([&] {
      const PackedWeights weights(views);
      ASSERT_EQ(weights.segments(), 5);
      ASSERT_EQ(weights.columns(), n);
      Results results(m, n);
      PackedRows rows;
      Start start = Start::from_zero;
      for (int s : sequence) {
        const MxMatrix part = a[static_cast<std::size_t>(s)].view();
        rows.pack(std::span(&part, 1), order);
        multiply(rows, weights, s, 0, n, order, start, results.accumulators(), kNoPause);
        start = Start::from_stored;
      }
      ASSERT_TRUE(results.equals(expected));
    });
  }
}

// Rows given in pieces with memory of their own = the rows in one piece.
TEST(TileProduct, PartsMaySplitTheRowsAnywhere) {
  Rng rng(19);
  const std::int64_t m = 41, n = 19, k = 97;
  const Operand a = Operand::random(ElementFormat::e4m3, m, k, 0, rng);
  const Operand b = Operand::random(ElementFormat::e4m3, n, k, 0, rng);
  for (SumOrder order : kOrders) {
    Results expected(m, n);
    expected.fill(0.0f);
    accumulate_reference(a.view(), b.view(), order, expected.data(), expected.pitch());
    const MxMatrix view_b = b.view();
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<Operand> pieces;
      for (std::int64_t first = 0; first < m;) {
        const auto wanted = static_cast<std::int64_t>(rng.below(11));
        const std::int64_t count = std::min(wanted, m - first);
        pieces.push_back(a.part(first, count, static_cast<std::int64_t>(rng.below(4))));
        first += count;
      }
      std::vector<MxMatrix> parts;
      for (const Operand& piece : pieces) parts.push_back(piece.view());
      for_each_target([&] {
        PackedRows rows;
        rows.pack(parts, order);
        ASSERT_EQ(rows.rows(), m);
        const PackedWeights weights(std::span(&view_b, 1));
        Results results(m, n);
        multiply(rows, weights, 0, 0, n, order, Start::from_zero, results.accumulators(), kNoPause);
        ASSERT_TRUE(results.equals(expected));
      });
    }
  }
}

// Products of −2^-286 round to −0: the sign survives where nothing else is added, so a k beyond the
// end must not count as +0, and lane order's sum is added to +0.
TEST(TileProduct, KeepsTheSignOfZero) {
  for (SumOrder order : kOrders) {
    for (std::int64_t k : {1, 15, 16, 17, 31, 33}) {
      Operand a(ElementFormat::e5m2, 7, k, 0);
      Operand b(ElementFormat::e5m2, 18, k, 0);
      const auto tiny = [k](Operand& operand, std::uint8_t code) {
        for (std::int64_t row = 0; row < operand.view().rows; ++row) {
          for (std::int64_t i = 0; i < k; ++i) operand.code(row, i) = code;
          for (std::int64_t group = 0; group < ceil_div(k, kGroup); ++group) {
            operand.scale(row, group) = 0;
          }
        }
      };
      tiny(a, 0x81);
      tiny(b, 0x01);
      for (Start start : {Start::from_zero, Start::from_stored}) {
        Results expected(7, 18);
        expected.fill(start == Start::from_zero ? 0.0f : -0.0f);
        accumulate_reference(a.view(), b.view(), order, expected.data(), expected.pitch());
        for_each_target([&] {
          Results results(7, 18);
          results.fill(-0.0f);
          multiply_tile(a.view(), b.view(), order, start, results);
          ASSERT_TRUE(results.equals(expected)) << "k " << k;
        });
      }
    }
  }
}

// k = 0 gives +0; no rows or no columns write nothing.
TEST(TileProduct, EmptyExtents) {
  for (SumOrder order : kOrders) {
    for_each_target([&] {
      Results results(3, 5);
      results.fill(-1.0f);
      const Operand a(ElementFormat::e4m3, 3, 0, 0);
      const Operand b(ElementFormat::e4m3, 5, 0, 0);
      multiply_tile(a.view(), b.view(), order, Start::from_zero, results);
      Results zeros(3, 5);
      zeros.fill(0.0f);
      ASSERT_TRUE(results.equals(zeros));
      const Operand none(ElementFormat::e4m3, 0, 64, 0);
      Rng rng(23);
      const Operand some = Operand::random(ElementFormat::e4m3, 5, 64, 0, rng);
      Results untouched(0, 0);
      multiply_tile(none.view(), some.view(), order, Start::from_zero, untouched);
      multiply_tile(some.view(), none.view(), order, Start::from_zero, untouched);
      ASSERT_EQ(untouched.damaged_canaries(), 0);
    });
  }
}

TEST(SimdTargets, ThePortableKernelsAreAlwaysThereAndLast) {
  const std::vector<const char*> targets = simd_targets();
  ASSERT_FALSE(targets.empty());
  EXPECT_STREQ(targets.back(), "portable");
}

TEST(SimdTargets, AnUnknownNameIsABug) {
  EXPECT_DEATH(force_simd_target("abacus"), "no SIMD target of this name");
}

}  // namespace
}  // namespace tandem::gemm
