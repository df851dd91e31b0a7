// SPDX-License-Identifier: Apache-2.0
#include "mx/output.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "mx/bf16.h"
#include "mx/formats.h"
#include "mx/fp16.h"
#include "mx/operand_for_test.h"

namespace tandem {
namespace {

// The value of a 16-bit code by the definition.
double defined_half(std::uint16_t code, int mantissa_bits, int bias) {
  const int exponent = (code & 0x7FFF) >> mantissa_bits;
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const double sign = (code & 0x8000) != 0 ? -1 : 1;
  if (exponent == (0x7FFF >> mantissa_bits)) {
    return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  }
  const int significand = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  return sign * std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
}

struct HalfFormat {
  std::uint16_t (*encode)(float);
  float (*decode)(std::uint16_t);
  int mantissa_bits;
  int bias;
  std::uint16_t infinity;
};

const HalfFormat kHalfFormats[] = {{encode_bf16, decode_bf16, 7, 127, 0x7F80},
                                   {encode_fp16, decode_fp16, 10, 15, 0x7C00}};

TEST(Output, DecodesAll65536CodesOfBf16AndFp16AndEncodesThemBack) {
  for (const HalfFormat& format : kHalfFormats) {
    for (int c = 0; c < 65536; ++c) {
      const std::uint16_t code = static_cast<std::uint16_t>(c);
      const double value = defined_half(code, format.mantissa_bits, format.bias);
      if (std::isnan(value)) {
        const std::uint16_t quiet = format.encode(format.decode(code));
        ASSERT_EQ(quiet, code | (1 << (format.mantissa_bits - 1))) << c;
        continue;
      }
      ASSERT_EQ(bits_of(format.decode(code)), bits_of(static_cast<float>(value))) << c;
      ASSERT_EQ(format.encode(format.decode(code)), code);
    }
  }
}

// For neighbouring codes c and c + 1: below the midpoint c, above c + 1, on it the even one. The
// code behind the largest finite one is infinity's.
TEST(Output, RoundsEveryMidpointToEvenAndItsNeighboursToTheNearest) {
  for (const HalfFormat& format : kHalfFormats) {
    for (std::uint16_t code = 0; code < format.infinity; ++code) {
      const double low = defined_half(code, format.mantissa_bits, format.bias);
      const double step = code == 0 ? defined_half(1, format.mantissa_bits, format.bias)
                          : code + 1 < format.infinity
                              ? defined_half(static_cast<std::uint16_t>(code + 1),
                                             format.mantissa_bits, format.bias) -
                                    low
                              : low - defined_half(static_cast<std::uint16_t>(code - 1),
                                                   format.mantissa_bits, format.bias);
      const float middle = static_cast<float>(low + step / 2);
      const std::uint16_t next = static_cast<std::uint16_t>(code + 1);
      ASSERT_EQ(static_cast<double>(middle), low + step / 2);
      ASSERT_EQ(format.encode(middle), code % 2 == 0 ? code : next);
      ASSERT_EQ(format.encode(std::nextafter(middle, 0.0f)), code);
      ASSERT_EQ(format.encode(std::nextafter(middle, 3.4e38f)), next);
      ASSERT_EQ(format.encode(-middle), 0x8000 | (code % 2 == 0 ? code : next));
    }
  }
}

TEST(Output, T52Bf16RoundsOverflowsAndQuiets) {
  EXPECT_EQ(encode_bf16(from_bits(0x3F808000)), 0x3F80);
  EXPECT_EQ(encode_bf16(from_bits(0x3F808001)), 0x3F81);
  EXPECT_EQ(encode_bf16(from_bits(0x3F818000)), 0x3F82);
  EXPECT_EQ(encode_bf16(from_bits(0x7F7FFFFF)), 0x7F80);
  EXPECT_EQ(encode_bf16(from_bits(0x7F800001)), 0x7FC0);
  EXPECT_EQ(encode_bf16(from_bits(0x00400000)), 0x0040);
}

TEST(Output, Fp16OverflowsFrom65520On) {
  EXPECT_EQ(encode_fp16(65519.996f), 0x7BFF);
  EXPECT_EQ(encode_fp16(65520.0f), 0x7C00);
  EXPECT_EQ(encode_fp16(-3.4e38f), 0xFC00);
  EXPECT_EQ(encode_fp16(from_bits(0xFF800000)), 0xFC00);
  EXPECT_EQ(encode_fp16(from_bits(0x7F800001)), 0x7E00);
}

TEST(Output, RoundToStoresWithoutAlignmentAndWidenReadsBack) {
  for (OutputType type : {OutputType::bf16, OutputType::fp16, OutputType::fp32}) {
    for (std::uint32_t bits : {0x3FC00000u, 0x80000000u, 0xC0400000u, 0x7F800000u}) {
      std::uint8_t bytes[8];
      std::memset(bytes, 0xA5, sizeof bytes);
      round_to(type, from_bits(bits), bytes + 1);
      EXPECT_EQ(bits_of(widen(type, bytes + 1)), bits);
      EXPECT_EQ(bytes[0], 0xA5);
      EXPECT_EQ(bytes[1 + element_bytes(type)], 0xA5);
    }
  }
}

TEST(Output, Fp32IsStoredAsItIsAndItsNanIsQuiet) {
  for (std::uint32_t bits : {0x00000001u, 0x807FFFFFu, 0x3F808001u, 0x7F7FFFFFu}) {
    float stored = 0;
    round_to(OutputType::fp32, from_bits(bits), &stored);
    EXPECT_EQ(bits_of(stored), bits);
  }
  std::uint32_t stored = 0;
  round_to(OutputType::fp32, from_bits(0x7F800001), &stored);
  EXPECT_EQ(stored, 0x7FC00001u);
  round_to(OutputType::fp32, from_bits(0xFF800001), &stored);
  EXPECT_EQ(stored, 0xFFC00001u);
}

TEST(Formats, TableAgreesWithTheDefinition) {
  for (ElementFormat format : {ElementFormat::e4m3, ElementFormat::e5m2}) {
    const FormatTraits& traits = format_traits(format);
    EXPECT_EQ(traits.format, format);
    EXPECT_EQ(traits.max_finite, std::ldexp(1.75f, traits.emax));
    EXPECT_TRUE(traits.is_nan(traits.nan_code));
    double max_finite = 0;
    for (int c = 0; c < 256; ++c) {
      const std::uint8_t code = static_cast<std::uint8_t>(c);
      const double value = defined_value(format, code);
      EXPECT_EQ(traits.is_nan(code), std::isnan(value)) << c;
      if (std::isfinite(value)) max_finite = std::max(max_finite, value);
      if (!std::isnan(value)) {
        EXPECT_EQ(bits_of(traits.values[code]), bits_of(static_cast<float>(value))) << c;
      }
    }
    EXPECT_EQ(traits.max_finite, max_finite);
    // The limit is the last scale at which every element is finite in FP32.
    const float limit = static_cast<float>(defined_scale(traits.scale_limit));
    EXPECT_TRUE(std::isfinite(traits.max_finite * limit));
    EXPECT_TRUE(std::isinf(traits.max_finite * limit * 2));
  }
}

}  // namespace
}  // namespace tandem
