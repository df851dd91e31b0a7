// SPDX-License-Identifier: Apache-2.0
// Public bug reports about FP8 and MX numerics that this layer must not repeat.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <vector>

#include "mx/bf16.h"
#include "mx/e4m3.h"
#include "mx/e5m2.h"
#include "mx/e8m0.h"
#include "mx/operand_for_test.h"
#include "mx/quantise.h"
#include "mx/reference_product.h"

namespace tandem {
namespace {

using enum ElementFormat;
constexpr Saturation kPlain = Saturation::none;
constexpr Saturation kSaturate = Saturation::saturate;

struct Group {
  std::uint8_t scale;
  std::vector<std::uint8_t> codes;
};

Group quantise_group(std::vector<float> values, ScaleMode mode, ElementFormat format = e4m3) {
  values.resize(32);
  Group group{0, std::vector<std::uint8_t>(32)};
  std::uint8_t scales[2];
  quantise_rows(values.data(), 1, 32, 32, format, mode, group.codes.data(), 32, scales, 2);
  group.scale = scales[0];
  return group;
}

Operand filled(ElementFormat format, std::int64_t rows, std::int64_t k, std::uint8_t code,
               std::int64_t gap = 5) {
  Operand operand(format, rows, k, gap);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t e = 0; e < k; ++e) operand.code(i, e) = code;
  }
  return operand;
}

std::vector<float> product(const Operand& a, const Operand& b, SumOrder order) {
  std::vector<float> sums(a.view().rows * b.view().rows);
  accumulate_reference(a.view(), b.view(), order, sums.data(), b.view().rows);
  return sums;
}

constexpr SumOrder kOrders[] = {SumOrder::panel, SumOrder::lane};

TEST(BugReports, N01ScaleZeroIsTwoToMinus127AndScaleFfIsNan) {
  for (std::uint8_t scale : {0x00, 0xFF}) {
    Operand operand = filled(e4m3, 1, 32, 0x38);
    operand.scale(0, 0) = scale;
    float values[32];
    dequantise_rows(operand.view(), values, 32);
    for (float value : values) {
      if (scale == 0) {
        EXPECT_EQ(bits_of(value), 0x00400000u);
      } else {
        EXPECT_TRUE(std::isnan(value));
      }
    }
  }
}

TEST(BugReports, N02ScaleByte86Is128AndNotNan) {
  EXPECT_EQ(decode_e8m0(0x86), 128.0f);
  EXPECT_TRUE(std::isnan(decode_e8m0(0xFF)));
}

TEST(BugReports, N03TinyGroupIsQuantisedWithTheReciprocal2To127) {
  const Group group = quantise_group({from_bits(0x03800000)}, ScaleMode::floor);
  EXPECT_EQ(group.scale, 0x00);
  EXPECT_EQ(group.codes[0], 0x70);
}

TEST(BugReports, N04ReciprocalOfScaleFeIsASubnormal) {
  EXPECT_EQ(bits_of(reciprocal_e8m0(0xFE)), 0x00400000u);
}

TEST(BugReports, N05ScaleBytesDecodeToPowersOfTwo) {
  EXPECT_EQ(decode_e8m0(0x00), 0x1p-127f);
  EXPECT_EQ(decode_e8m0(0x7F), 1.0f);
  EXPECT_EQ(decode_e8m0(0xFE), 0x1p127f);
  EXPECT_TRUE(std::isnan(decode_e8m0(0xFF)));
}

TEST(BugReports, N07Amax957GivesTheAnswerOfItsMode) {
  const Group floor = quantise_group({957.0f}, ScaleMode::floor);
  EXPECT_EQ(floor.scale, 0x80);
  EXPECT_EQ(floor.codes[0], 0x7E);
  const Group rceil = quantise_group({957.0f}, ScaleMode::rceil);
  EXPECT_EQ(rceil.scale, 0x81);
  EXPECT_EQ(rceil.codes[0], 0x77);
}

TEST(BugReports, N08ScaleSubtractsTheExponentOfTheLargestElement) {
  const Group group = quantise_group({448.0f, from_bits(0x3C23D70A)}, ScaleMode::floor);
  EXPECT_EQ(group.scale, 0x7F);
  EXPECT_EQ(group.codes[0], 0x7E);
  EXPECT_EQ(group.codes[1], 0x05);
}

TEST(BugReports, N10EncodesToTheNearestCode) {
  EXPECT_EQ(encode_e4m3(from_bits(0x3FE815A5), kPlain), 0x3F);
}

TEST(BugReports, N11RoundsOnceAndNotThroughBinary16) {
  EXPECT_EQ(encode_e4m3(from_bits(0x3F880001), kPlain), 0x39);
  EXPECT_EQ(encode_e4m3(from_bits(0x43880001), kPlain), 0x79);
  EXPECT_EQ(encode_e4m3(from_bits(0x3B400001), kPlain), 0x02);
}

TEST(BugReports, N12NanCodesOfE4m3AreNotPlusOrMinus480) {
  EXPECT_TRUE(std::isnan(decode_e4m3(0x7F)));
  EXPECT_TRUE(std::isnan(decode_e4m3(0xFF)));
  for (SumOrder order : kOrders) {
    Operand a = filled(e4m3, 2, 64, 0x38);
    a.code(1, 40) = 0xFF;
    const std::vector<float> sums = product(a, filled(e4m3, 3, 64, 0x38), order);
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(sums[j], 64.0f);
      EXPECT_TRUE(std::isnan(sums[3 + j]));
    }
  }
}

TEST(BugReports, N13Code80OfE4m3IsMinusZero) { EXPECT_EQ(bits_of(decode_e4m3(0x80)), 0x80000000u); }

TEST(BugReports, N14Between448And464RoundsTo448) {
  EXPECT_EQ(encode_e4m3(450.0f, kPlain), 0x7E);
  EXPECT_EQ(encode_e4m3(464.0f, kPlain), 0x7E);
  EXPECT_EQ(encode_e4m3(from_bits(0x43E80001), kPlain), 0x7F);
  EXPECT_EQ(encode_e4m3(from_bits(0x43E80001), kSaturate), 0x7E);
}

TEST(BugReports, N15Amax511SaturatesUnderFloor) {
  const Group group = quantise_group({from_bits(0x43FF8000)}, ScaleMode::floor);
  EXPECT_EQ(group.scale, 0x7F);
  EXPECT_EQ(group.codes[0], 0x7E);
}

TEST(BugReports, N16TailOfARowDoesNotReadTheNextRow) {
  for (SumOrder order : kOrders) {
    Operand a = filled(e4m3, 2, 33, 0x38, 0);
    for (int k = 0; k < 33; ++k) a.code(1, k) = 0x7F;
    const std::vector<float> sums = product(a, filled(e4m3, 70, 33, 0x38, 0), order);
    for (int j = 0; j < 70; ++j) {
      EXPECT_EQ(encode_bf16(sums[j]), 0x4204);
      EXPECT_TRUE(std::isnan(sums[70 + j]));
    }
  }
}

TEST(BugReports, N17ClippedElementSaturatesInsteadOfNan) {
  const Group group = quantise_group({from_bits(0x3FF33333)}, ScaleMode::floor);
  EXPECT_EQ(group.scale, 0x77);
  EXPECT_EQ(group.codes[0], 0x7E);
}

TEST(BugReports, N19ZerosAndSubnormalsOfE5m2) {
  EXPECT_EQ(bits_of(decode_e5m2(0x00)), 0x00000000u);
  EXPECT_EQ(bits_of(decode_e5m2(0x80)), 0x80000000u);
  EXPECT_EQ(decode_e5m2(0x01), 0x1p-16f);
  EXPECT_EQ(decode_e5m2(0x02), 0x1p-15f);
  EXPECT_EQ(decode_e5m2(0x03), 0x3p-16f);
  EXPECT_EQ(decode_e5m2(0x04), 0x1p-14f);
  EXPECT_EQ(encode_e5m2(from_bits(0x37800000), kPlain), 0x01);
  EXPECT_EQ(encode_e5m2(from_bits(0x38400000), kPlain), 0x03);
}

TEST(BugReports, N20MinusZeroEncodesToMinusZero) {
  for (Saturation saturation : {kPlain, kSaturate}) {
    EXPECT_EQ(encode_e4m3(-0.0f, saturation), 0x80);
    EXPECT_EQ(encode_e5m2(-0.0f, saturation), 0x80);
  }
}

TEST(BugReports, N21ScaleOfOneIsNotOneStepLow) {
  for (ScaleMode mode : {ScaleMode::floor, ScaleMode::rceil, ScaleMode::even}) {
    EXPECT_EQ(choose_scale(1.0f, e4m3, mode), 0x77);
  }
}

TEST(BugReports, N22GroupsRestartAtEveryRow) {
  std::vector<float> values(2 * 48, 1.0f);
  for (int k = 0; k < 48; ++k) values[48 + k] = 1024.0f;
  std::uint8_t codes[2 * 48];
  std::uint8_t scales[4];
  quantise_rows(values.data(), 2, 48, 48, e4m3, ScaleMode::floor, codes, 48, scales, 2);
  EXPECT_EQ(scales[0], 0x77);
  EXPECT_EQ(scales[1], 0x77);
  EXPECT_EQ(scales[2], 0x81);
  EXPECT_EQ(scales[3], 0x81);
  for (std::uint8_t code : codes) EXPECT_EQ(code, 0x78);
}

TEST(BugReports, N23TheTopBinadeIsOrdinary) {
  EXPECT_EQ(encode_e4m3(256.0f, kSaturate), 0x78);
  EXPECT_EQ(encode_e4m3(288.0f, kSaturate), 0x79);
  EXPECT_EQ(encode_e4m3(272.0f, kSaturate), 0x78);
}

TEST(BugReports, N24OverflowIsDecidedAfterRounding) {
  EXPECT_EQ(encode_e4m3(500.0f, kPlain), 0x7F);
  EXPECT_EQ(encode_e5m2(58000.0f, kPlain), 0x7B);
  EXPECT_EQ(encode_e4m3(from_bits(0x7F800000), kPlain), 0x7F);
  EXPECT_EQ(encode_e5m2(from_bits(0x7F800000), kPlain), 0x7C);
}

TEST(BugReports, N25Bf16RoundsAndDoesNotTruncate) {
  EXPECT_EQ(encode_bf16(from_bits(0x3F808001)), 0x3F81);
  EXPECT_EQ(encode_bf16(from_bits(0x3F818000)), 0x3F82);
}

TEST(BugReports, N26SaturatingEncodeOf672IsTheLargestValue) {
  EXPECT_EQ(encode_e4m3(from_bits(0x44280000), kSaturate), 0x7E);
}

TEST(BugReports, N27AllZeroGroupHasAFiniteScaleAndZeroElements) {
  for (ScaleMode mode : {ScaleMode::floor, ScaleMode::rceil, ScaleMode::even}) {
    for (ElementFormat format : {e4m3, e5m2}) {
      Group group = quantise_group({}, mode, format);
      EXPECT_NE(group.scale, 0xFF);
      for (std::uint8_t code : group.codes) EXPECT_EQ(code, 0x00);
      const MxMatrix matrix{format, 1, 32, group.codes.data(), 32, &group.scale, 1};
      float values[32];
      dequantise_rows(matrix, values, 32);
      for (float value : values) EXPECT_EQ(value, 0.0f);
    }
  }
}

TEST(BugReports, N28OneNanMakesTheWholeGroupNan) {
  std::vector<float> values(32, 1.0f);
  values[0] = from_bits(0x7FC00000);
  const Group group = quantise_group(values, ScaleMode::floor);
  EXPECT_EQ(group.scale, 0xFF);
  for (std::uint8_t code : group.codes) EXPECT_TRUE(is_nan_e4m3(code));
}

TEST(BugReports, N28OffsetsBeyond31BitsAreAddressed) {
  // Two rows 2^31 + 64 elements apart; only the touched pages exist.
  constexpr std::int64_t kPitch = (std::int64_t{1} << 31) + 64;
  constexpr std::size_t kBytes = static_cast<std::size_t>(kPitch) * 4 + 4096;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no 8 GiB of address space";
  float* values = static_cast<float*>(memory);
  for (int k = 0; k < 32; ++k) values[kPitch + k] = 1.0f;
  std::uint8_t scales[4];
  auto* codes = static_cast<std::uint8_t*>(memory) + 4096;
  quantise_rows(values, 2, 32, kPitch, e4m3, ScaleMode::floor, codes, kPitch, scales, 2);
  EXPECT_EQ(scales[0], 0x00);
  EXPECT_EQ(scales[2], 0x77);
  for (int k = 0; k < 32; ++k) EXPECT_EQ(codes[kPitch + k], 0x78);
  const MxMatrix a{e4m3, 2, 32, codes, kPitch, scales, 2};
  for (SumOrder order : kOrders) {
    float sums[4] = {};
    accumulate_reference(a, a, order, sums, 2);
    EXPECT_EQ(sums[0], 0.0f);
    EXPECT_EQ(sums[3], 32.0f);
  }
  munmap(memory, kBytes);
}

TEST(BugReports, N29BothOperandsAreQuantisedInTheModeAskedFor) {
  const Group group = quantise_group({from_bits(0x43E08000)}, ScaleMode::rceil);
  EXPECT_EQ(group.scale, 0x80);
  EXPECT_EQ(group.codes[0], 0x76);
}

TEST(BugReports, N30InfinityHasNoCodeInE4m3) {
  EXPECT_EQ(encode_e4m3(from_bits(0x7F800000), kPlain), 0x7F);
}

TEST(BugReports, N33ScalesOfEveryGroupOfBCount) {
  for (SumOrder order : kOrders) {
    Operand b = filled(e4m3, 1, 64, 0x38);
    b.scale(0, 1) = 0x81;
    EXPECT_EQ(product(filled(e4m3, 1, 64, 0x38), b, order)[0], 160.0f);
  }
}

TEST(BugReports, N34DistinctScalesBelongToTheirRowAndGroup) {
  for (SumOrder order : kOrders) {
    Operand a = filled(e4m3, 9, 160, 0x38);
    Operand b = filled(e4m3, 67, 160, 0x38);
    for (Operand* operand : {&a, &b}) {
      for (std::int64_t r = 0; r < operand->view().rows; ++r) {
        for (std::int64_t g = 0; g < 5; ++g) {
          operand->scale(r, g) = static_cast<std::uint8_t>(0x7F + (r + 2 * g) % 5);
        }
      }
    }
    const std::vector<float> sums = product(a, b, order);
    for (std::int64_t i = 0; i < 9; ++i) {
      for (std::int64_t j = 0; j < 67; ++j) {
        double expected = 0;
        for (std::int64_t g = 0; g < 5; ++g) {
          expected += 32 * std::ldexp(1.0, static_cast<int>((i + 2 * g) % 5 + (j + 2 * g) % 5));
        }
        EXPECT_EQ(sums[i * 67 + j], expected);
      }
    }
  }
}

TEST(BugReports, N35RangeChecksSkipPadScales) {
  for (std::uint8_t pad : {0x00, 0xFF}) {
    const std::vector<std::uint8_t> codes(32, 0x38);
    const std::uint8_t scales[2] = {0x80, pad};
    const MxMatrix matrix{e4m3, 1, 32, codes.data(), 32, scales, 2};
    EXPECT_FALSE(needs_exact_path(matrix, 0));
    float sum = 0;
    accumulate_reference(matrix, matrix, SumOrder::panel, &sum, 1);
    EXPECT_EQ(sum, 128.0f);
  }
}

TEST(BugReports, N36AKThatIsNoMultipleOf32IsSummedToItsEnd) {
  constexpr std::int64_t kK = 499 * 16;
  for (SumOrder order : kOrders) {
    Operand a(e4m3, 2, kK);
    Operand b(e4m3, 3, kK);
    for (std::int64_t k = 0; k < kK; ++k) {
      a.code(0, k) = a.code(1, k) = static_cast<std::uint8_t>(0x30 + k % 16);
      for (int j = 0; j < 3; ++j) b.code(j, k) = static_cast<std::uint8_t>(0x28 + (k + j) % 32);
    }
    const std::vector<float> sums = product(a, b, order);
    for (int j = 0; j < 3; ++j) {
      double expected = 0;
      for (std::int64_t k = 0; k < kK; ++k) expected += a.value(1, k) * b.value(j, k);
      EXPECT_NEAR(sums[3 + j], expected, kK * 0x1p-24 * expected);
    }
  }
}

}  // namespace
}  // namespace tandem
