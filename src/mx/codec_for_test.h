// SPDX-License-Identifier: Apache-2.0
// An encoder by exhaustive search, and a row of the edge-case table, for the 8-bit codecs' tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <vector>

#include "mx/operand_for_test.h"
#include "tandem/types.h"

namespace tandem {

struct EncodeCase {
  const char* id;
  std::uint32_t bits;
  std::uint8_t plain;
  std::uint8_t saturated;
};

inline bool is_nan_code(ElementFormat format, std::uint8_t code) {
  return std::isnan(defined_value(format, code));
}

// Each row of the table for +x and, by symmetry, for -x.
inline void expect_table(const std::vector<EncodeCase>& cases,
                         std::uint8_t (*encode)(float, Saturation)) {
  for (const EncodeCase& c : cases) {
    SCOPED_TRACE(testing::Message() << c.id << " bits " << std::hex << c.bits);
    const float value = from_bits(c.bits);
    EXPECT_EQ(encode(value, Saturation::none), c.plain);
    EXPECT_EQ(encode(value, Saturation::saturate), c.saturated);
    EXPECT_EQ(encode(-value, Saturation::none), c.plain ^ 0x80);
    EXPECT_EQ(encode(-value, Saturation::saturate), c.saturated ^ 0x80);
  }
}

// The nearest code of a finite value: the distances to all codes, computed in FP64, ties to the
// even code. One code beyond the largest stands for overflow.
inline std::uint8_t searched_code(ElementFormat format, float value, Saturation saturation) {
  const bool e4m3 = format == ElementFormat::e4m3;
  const std::uint8_t max_code = e4m3 ? 0x7E : 0x7B;
  const std::uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude >= (e4m3 ? 480.0 : 65536.0)) {
    const int code = saturation == Saturation::saturate ? max_code : max_code + 1;
    return static_cast<std::uint8_t>(sign | code);
  }
  int best = 0;
  double best_distance = std::numeric_limits<double>::infinity();
  for (int code = 0; code <= max_code + 1; ++code) {
    const double candidate = code <= max_code ? defined_value(format, static_cast<uint8_t>(code))
                                              : (e4m3 ? 480.0 : 65536.0);
    const double distance = std::fabs(candidate - magnitude);
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
      best = code;
      best_distance = distance;
    }
  }
  if (best > max_code) best = saturation == Saturation::saturate ? max_code : best;
  return static_cast<std::uint8_t>(sign | best);
}

// Every code's value, every midpoint between neighbours, their FP32 neighbours, and random bits.
inline void expect_searched_codes(ElementFormat format, std::uint8_t (*encode)(float, Saturation)) {
  const int max_code = format == ElementFormat::e4m3 ? 0x7E : 0x7B;
  const double beyond = format == ElementFormat::e4m3 ? 480.0 : 65536.0;
  std::vector<float> inputs;
  for (int code = 0; code <= max_code; ++code) {
    const double low = defined_value(format, static_cast<std::uint8_t>(code));
    const double high =
        code < max_code ? defined_value(format, static_cast<std::uint8_t>(code + 1)) : beyond;
    for (double centre : {low, (low + high) / 2, high}) {
      const float x = static_cast<float>(centre);
      inputs.push_back(x);
      inputs.push_back(std::nextafter(x, -1.0f));
      inputs.push_back(std::nextafter(x, std::numeric_limits<float>::infinity()));
    }
  }
  Rng rng(20);
  for (int draw = 0; draw < 100000; ++draw) {
    // Exponents around both formats' ranges, and one draw in eight over all of FP32.
    const std::uint32_t bits = static_cast<std::uint32_t>(rng.next());
    const std::uint32_t exponent = 127 - 20 + static_cast<std::uint32_t>(rng.below(40));
    const float x = from_bits(draw % 8 == 0 ? bits : (bits & 0x807FFFFFu) | (exponent << 23));
    if (std::isfinite(x)) inputs.push_back(x);
  }
  for (float x : inputs) {
    for (float value : {x, -x}) {
      for (Saturation saturation : {Saturation::none, Saturation::saturate}) {
        ASSERT_EQ(encode(value, saturation), searched_code(format, value, saturation))
            << std::hex << bits_of(value) << " = " << value;
      }
    }
  }
}

// All 256 codes: the value is the definition's to the bit, and encoding gives the code back.
inline void expect_round_trip(ElementFormat format, float (*decode)(std::uint8_t),
                              std::uint8_t (*encode)(float, Saturation)) {
  for (int c = 0; c < 256; ++c) {
    const std::uint8_t code = static_cast<std::uint8_t>(c);
    const float value = decode(code);
    if (is_nan_code(format, code)) {
      EXPECT_EQ(bits_of(value) & 0x7FC00000u, 0x7FC00000u) << c;
      EXPECT_TRUE(is_nan_code(format, encode(value, Saturation::none))) << c;
      EXPECT_TRUE(is_nan_code(format, encode(value, Saturation::saturate))) << c;
      continue;
    }
    EXPECT_EQ(bits_of(value), bits_of(static_cast<float>(defined_value(format, code)))) << c;
    EXPECT_EQ(encode(value, Saturation::none), code);
    EXPECT_EQ(encode(value, Saturation::saturate), code);
  }
}

}  // namespace tandem
