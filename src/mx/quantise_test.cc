// SPDX-License-Identifier: Apache-2.0
#include "mx/quantise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "mx/formats.h"
#include "mx/loops/quantise_loops.h"
#include "mx/operand_for_test.h"

namespace tandem {
namespace {

constexpr ScaleMode kModes[] = {ScaleMode::floor, ScaleMode::rceil, ScaleMode::even};
constexpr ElementFormat kElementFormats[] = {ElementFormat::e4m3, ElementFormat::e5m2};

struct Quantised {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
};

// One row, with guards behind codes and scales.
Quantised quantise_row(const std::vector<float>& values, ElementFormat format, ScaleMode mode) {
  const std::int64_t k = static_cast<std::int64_t>(values.size());
  Quantised out{std::vector<std::uint8_t>(k + 1, 0xA5),
                std::vector<std::uint8_t>(scale_row_bytes(k) + 1, 0xA5)};
  quantise_rows(values.data(), 1, k, k, format, mode, out.codes.data(), k, out.scales.data(),
                scale_row_bytes(k));
  EXPECT_EQ(out.codes.back(), 0xA5);
  EXPECT_EQ(out.scales.back(), 0xA5);
  return out;
}

struct ScaleCase {
  const char* id;
  std::uint32_t amax;
  std::uint8_t e4m3[3];  // floor, rceil, even
  std::uint8_t e5m2[3];
  std::uint8_t code[3];  // E4M3 code of amax
};

const ScaleCase kScaleCases[] = {
    {"T29", 0x00000000, {0x00, 0x00, 0x00}, {0x00, 0x00, 0x00}, {0x00, 0x00, 0x00}},
    {"T30", 0x00400000, {0x00, 0x00, 0x00}, {0x00, 0x00, 0x00}, {0x38, 0x38, 0x38}},
    {"T31", 0x04000000, {0x00, 0x00, 0x00}, {0x00, 0x00, 0x00}, {0x78, 0x78, 0x78}},
    {"T32", 0x04800000, {0x01, 0x01, 0x01}, {0x00, 0x00, 0x00}, {0x78, 0x78, 0x78}},
    {"T33", 0x3F800000, {0x77, 0x77, 0x77}, {0x70, 0x70, 0x70}, {0x78, 0x78, 0x78}},
    {"T34", 0x3FE00000, {0x77, 0x77, 0x77}, {0x70, 0x70, 0x70}, {0x7E, 0x7E, 0x7E}},
    {"T34+", 0x3FE00001, {0x77, 0x78, 0x77}, {0x70, 0x71, 0x70}, {0x7E, 0x76, 0x7E}},
    {"T35", 0x3FF33333, {0x77, 0x78, 0x77}, {0x70, 0x71, 0x71}, {0x7E, 0x77, 0x7E}},
    {"T36-", 0x3FF7FFFF, {0x77, 0x78, 0x77}, {0x70, 0x71, 0x71}, {0x7E, 0x77, 0x7E}},
    {"T36", 0x3FF80000, {0x77, 0x78, 0x78}, {0x70, 0x71, 0x71}, {0x7E, 0x78, 0x78}},
    {"T37", 0x43E00000, {0x7F, 0x7F, 0x7F}, {0x78, 0x78, 0x78}, {0x7E, 0x7E, 0x7E}},
    {"T37+", 0x43E00001, {0x7F, 0x80, 0x7F}, {0x78, 0x79, 0x78}, {0x7E, 0x76, 0x7E}},
    {"T37 449", 0x43E08000, {0x7F, 0x80, 0x7F}, {0x78, 0x79, 0x78}, {0x7E, 0x76, 0x7E}},
    {"T38", 0x43FF8000, {0x7F, 0x80, 0x80}, {0x78, 0x79, 0x79}, {0x7E, 0x78, 0x78}},
    {"T38 512", 0x44000000, {0x80, 0x80, 0x80}, {0x79, 0x79, 0x79}, {0x78, 0x78, 0x78}},
    {"T39", 0x446F4000, {0x80, 0x81, 0x80}, {0x79, 0x7A, 0x79}, {0x7E, 0x77, 0x7E}},
    {"T40", 0x7F7FFFFF, {0xF6, 0xF7, 0xF7}, {0xEF, 0xF0, 0xF0}, {0x7E, 0x78, 0x78}},
};

TEST(Quantise, ChoosesTheScalesOfTheEdgeCaseTable) {
  for (const ScaleCase& c : kScaleCases) {
    for (int mode = 0; mode < 3; ++mode) {
      SCOPED_TRACE(testing::Message() << c.id << " " << to_string(kModes[mode]));
      const float amax = from_bits(c.amax);
      EXPECT_EQ(choose_scale(amax, ElementFormat::e4m3, kModes[mode]), c.e4m3[mode]);
      EXPECT_EQ(choose_scale(amax, ElementFormat::e5m2, kModes[mode]), c.e5m2[mode]);
      // The group in which -amax comes last.
      const Quantised out = quantise_row({0.0f, -amax}, ElementFormat::e4m3, kModes[mode]);
      EXPECT_EQ(out.scales[0], c.e4m3[mode]);
      EXPECT_EQ(out.codes[0], 0x00);
      EXPECT_EQ(out.codes[1], c.code[mode] | 0x80);
    }
  }
}

TEST(Quantise, T40InfinityAndNanGiveTheNanScale) {
  for (ScaleMode mode : kModes) {
    for (ElementFormat format : kElementFormats) {
      for (std::uint32_t bits : {0x7F800000u, 0x7F800001u, 0x7FC00000u, 0xFFC00000u}) {
        EXPECT_EQ(choose_scale(from_bits(bits), format, mode), 0xFF);
      }
    }
  }
}

// With s the unbiased scale: floor takes the largest s with 2^emax · 2^s ≤ amax; rceil the smallest
// with amax ≤ max_finite · 2^s. Both in FP64, where all of this is exact.
TEST(Quantise, FloorAndRceilAreWhatTheirDefinitionsSay) {
  Rng rng(7);
  for (int draw = 0; draw < 200000; ++draw) {
    const std::uint32_t bits = static_cast<std::uint32_t>(rng.below(0x7F800000u));
    const float amax = from_bits(bits);
    for (ElementFormat format : kElementFormats) {
      const FormatTraits& traits = format_traits(format);
      const std::uint8_t floor = choose_scale(amax, format, ScaleMode::floor);
      if (floor > 0) {
        ASSERT_LE(std::ldexp(1.0, traits.emax + floor - 127), amax);
      }
      ASSERT_GT(std::ldexp(1.0, traits.emax + floor + 1 - 127), amax);
      const std::uint8_t rceil = choose_scale(amax, format, ScaleMode::rceil);
      ASSERT_GE(traits.max_finite * defined_scale(rceil), amax);
      if (rceil > 0) {
        ASSERT_LT(traits.max_finite * std::ldexp(1.0, rceil - 1 - 127), amax);
      }
    }
  }
}

// The form with an FP32 product: d = amax · (1 / max_finite), its exponent, one more if any
// mantissa bit is set.
TEST(Quantise, RceilEqualsTheFp32ProductForm) {
  const auto product_form = [](float amax, float reciprocal) {
    const std::uint32_t d = bits_of(amax * reciprocal);
    const std::uint32_t exponent = d >> 23;
    const std::uint32_t mantissa = d & 0x007FFFFF;
    const bool up = exponent == 0 ? mantissa > 0x00400000 : mantissa != 0;
    return static_cast<std::uint8_t>(std::min(exponent + (up ? 1u : 0u), 254u));
  };
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (std::int32_t step = -3; step <= 3; ++step) {
      for (std::uint32_t mantissa : {0x200000u, 0x600000u, 0x780000u}) {
        const float amax =
            from_bits((exponent << 23 | mantissa) + static_cast<std::uint32_t>(step));
        EXPECT_EQ(choose_scale(amax, ElementFormat::e4m3, ScaleMode::rceil),
                  product_form(amax, from_bits(0x3B124925)))
            << std::hex << bits_of(amax);
        EXPECT_EQ(choose_scale(amax, ElementFormat::e5m2, ScaleMode::rceil),
                  product_form(amax, from_bits(0x37924925)))
            << std::hex << bits_of(amax);
      }
    }
  }
}

TEST(Quantise, BlockExamplesOfTheThreeModes) {
  const Quantised wide = quantise_row({448.0f, 0.01f}, ElementFormat::e4m3, ScaleMode::floor);
  EXPECT_EQ(wide.scales[0], 0x7F);
  EXPECT_EQ(wide.codes[0], 0x7E);
  EXPECT_EQ(wide.codes[1], 0x05);
  const Quantised clipped = quantise_row({1.9f}, ElementFormat::e4m3, ScaleMode::floor);
  EXPECT_EQ(clipped.scales[0], 0x77);
  EXPECT_EQ(clipped.codes[0], 0x7E);
  const Quantised kept = quantise_row({1.9f}, ElementFormat::e4m3, ScaleMode::rceil);
  EXPECT_EQ(kept.scales[0], 0x78);
  EXPECT_EQ(kept.codes[0], 0x77);
}

TEST(Quantise, SubnormalFp32ValuesAreScaledUp) {
  for (ScaleMode mode : {ScaleMode::floor, ScaleMode::rceil}) {
    for (auto [bits, code] : {std::pair<std::uint32_t, std::uint8_t>{6142315, 0x3C},
                              {5096174, 0x3A},
                              {33075, 0x04},
                              {67028, 0x08}}) {
      const Quantised out = quantise_row({from_bits(bits)}, ElementFormat::e4m3, mode);
      EXPECT_EQ(out.scales[0], 0x00);
      EXPECT_EQ(out.codes[0], code) << bits;
    }
  }
}

TEST(Quantise, InfinityOrNanMakesItsGroupNanAndLeavesTheNextAlone) {
  for (std::uint32_t bits : {0x7F800000u, 0xFF800000u, 0x7FC00000u, 0x7F800001u}) {
    for (ElementFormat format : kElementFormats) {
      std::vector<float> values(64, 1.0f);
      values[31] = from_bits(bits);
      const Quantised out = quantise_row(values, format, ScaleMode::floor);
      EXPECT_EQ(out.scales[0], 0xFF);
      EXPECT_NE(out.scales[1], 0xFF);
      for (int k = 0; k < 64; ++k) {
        EXPECT_EQ(std::isnan(defined_value(format, out.codes[k])), k < 32) << k;
      }
    }
  }
}

TEST(Quantise, PadScaleIsWrittenZeroAndNothingBehindIt) {
  for (std::int64_t k : {1, 31, 32, 33, 40, 48, 64, 65, 96, 97, 128}) {
    std::vector<float> values(k);
    for (std::int64_t e = 0; e < k; ++e) values[e] = std::ldexp(1.0f, static_cast<int>(e / 32));
    const Quantised out = quantise_row(values, ElementFormat::e5m2, ScaleMode::floor);
    const std::int64_t groups = (k + 31) / 32;
    for (std::int64_t g = 0; g < groups; ++g) EXPECT_EQ(out.scales[g], 127 - 15 + g) << k;
    for (std::int64_t g = groups; g < scale_row_bytes(k); ++g) EXPECT_EQ(out.scales[g], 0) << k;
  }
}

TEST(Quantise, PitchesAreHonouredAndGapsStayUntouched) {
  constexpr std::int64_t kRows = 3, kK = 40, kPitch = 47, kCodePitch = 45, kScalePitch = 5;
  std::vector<float> values(kRows * kPitch, std::numeric_limits<float>::quiet_NaN());
  Rng rng(3);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t k = 0; k < kK; ++k) values[i * kPitch + k] = rng.normal();
  }
  std::vector<std::uint8_t> codes(kRows * kCodePitch, 0xA5);
  std::vector<std::uint8_t> scales(kRows * kScalePitch, 0xA5);
  quantise_rows(values.data(), kRows, kK, kPitch, ElementFormat::e4m3, ScaleMode::even,
                codes.data(), kCodePitch, scales.data(), kScalePitch);
  const MxMatrix matrix{ElementFormat::e4m3, kRows,         kK,         codes.data(),
                        kCodePitch,          scales.data(), kScalePitch};
  std::vector<float> back(kRows * kPitch, 7.0f);
  dequantise_rows(matrix, back.data(), kPitch);
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::vector<float> row(values.begin() + i * kPitch, values.begin() + i * kPitch + kK);
    const Quantised alone = quantise_row(row, ElementFormat::e4m3, ScaleMode::even);
    for (std::int64_t k = 0; k < kPitch; ++k) {
      if (k < kCodePitch) {
        EXPECT_EQ(codes[i * kCodePitch + k], k < kK ? alone.codes[k] : 0xA5);
      }
      const double value = k < kK ? defined_value(ElementFormat::e4m3, alone.codes[k]) *
                                        defined_scale(alone.scales[k / 32])
                                  : 7.0;
      EXPECT_EQ(back[i * kPitch + k], value);
    }
    EXPECT_EQ(scales[i * kScalePitch + 4], 0xA5);
  }
}

// A saturating encode apart, an element moves by at most half a step of its code: 2^-4 of itself
// in E4M3, 2^-3 in E5M2, or half the smallest subnormal times the scale.
TEST(Quantise, ElementsAreTheNearestAndOnlyFloorAndEvenClip) {
  Rng rng(11);
  for (ElementFormat format : kElementFormats) {
    const FormatTraits& traits = format_traits(format);
    const double relative = std::ldexp(0.5, -traits.mantissa_bits);
    const double subnormal = defined_value(format, 0x01) / 2;
    for (ScaleMode mode : kModes) {
      std::vector<float> values(1000);
      for (float& value : values) {
        const float normal = rng.normal();
        value = std::ldexp(normal, static_cast<int>(rng.below(12)) - 6);
      }
      const Quantised out = quantise_row(values, format, mode);
      for (int k = 0; k < 1000; ++k) {
        const double scale = defined_scale(out.scales[k / 32]);
        const double limit = traits.max_finite * scale;
        const double target = std::clamp<double>(values[k], -limit, limit);
        if (mode == ScaleMode::rceil) {
          ASSERT_EQ(target, values[k]);
        }
        const double error = std::fabs(defined_value(format, out.codes[k]) * scale - target);
        ASSERT_LE(error, std::max(relative * std::fabs(target), subnormal * scale)) << k;
      }
    }
  }
}

// Every FP32 pattern of the upper 16 bits, with lower halves around ties, in groups whose factor is
// 1: both tables of loops give the scalar codec's codes.
TEST(QuantiseLoops, EveryTableEncodesAsTheCodecsDo) {
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    if ((upper & 0x7F80) == 0x7F80) continue;  // a group with infinity or NaN is not encoded
    for (const std::uint32_t lower : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      values.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  values.resize(values.size() / kGroup * kGroup);
  const auto groups = static_cast<std::int64_t>(values.size()) / kGroup;
  const std::vector<float> ones(static_cast<std::size_t>(groups), 1.0f);
  for (const QuantiseLoops* loops : {&baseline_quantise_loops(), avx2_quantise_loops()}) {
    if (loops == nullptr) continue;  // no AVX2 here
    for (const ElementFormat format : kElementFormats) {
      std::vector<std::uint8_t> codes(values.size());
      const auto encode = format == ElementFormat::e4m3 ? loops->encode_e4m3 : loops->encode_e5m2;
      encode(values.data(), groups, ones.data(), codes.data());
      const FormatTraits& traits = format_traits(format);
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(codes[i], traits.encode(values[i], Saturation::saturate))
            << values[i] << " in " << to_string(format);
      }
    }
    std::vector<std::uint32_t> largest(static_cast<std::size_t>(groups));
    loops->largest(values.data(), groups, largest.data());
    for (std::size_t group = 0; group < largest.size(); ++group) {
      float want = 0;
      for (std::size_t i = 0; i < kGroup; ++i) {
        want = std::max(want, std::abs(values[group * kGroup + i]));
      }
      ASSERT_EQ(std::bit_cast<float>(largest[group]), want) << "group " << group;
    }
  }
}

TEST(Dequantise, AllCodesTimesAllScalesAreTheExactProductRoundedToFp32) {
  for (ElementFormat format : kElementFormats) {
    Operand operand(format, 256, 256, 0);
    for (int i = 0; i < 256; ++i) {
      for (int k = 0; k < 256; ++k) operand.code(i, k) = static_cast<std::uint8_t>(k);
      for (int g = 0; g < 8; ++g) operand.scale(i, g) = static_cast<std::uint8_t>(i + 3 * g);
    }
    std::vector<float> values(256 * 256);
    dequantise_rows(operand.view(), values.data(), 256);
    for (int i = 0; i < 256; ++i) {
      for (int k = 0; k < 256; ++k) {
        const float expected = static_cast<float>(operand.value(i, k));
        const float actual = values[i * 256 + k];
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(actual)) << i << " " << k;
        } else {
          ASSERT_EQ(bits_of(actual), bits_of(expected)) << i << " " << k;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tandem
