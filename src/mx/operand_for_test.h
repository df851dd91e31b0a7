// SPDX-License-Identifier: Apache-2.0
// Operands for tests, with poison wherever nobody may read: NaN codes between the rows, 0xFF in
// pad scale bytes. The values are computed from the formats' definition, not with the codecs.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/rng.h"
#include "mx/matrix.h"

namespace tandem {

inline std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
inline float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// The value of a code by the definition: (-1)^s · 2^(e - bias) · 1.m, or 2^(1 - bias) · 0.m.
inline double defined_value(ElementFormat format, std::uint8_t code) {
  const bool e4m3 = format == ElementFormat::e4m3;
  const int mantissa_bits = e4m3 ? 3 : 2;
  const int bias = e4m3 ? 7 : 15;
  const int exponent = (code & 0x7F) >> mantissa_bits;
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const double sign = (code & 0x80) != 0 ? -1 : 1;
  if (e4m3 && (code & 0x7F) == 0x7F) return std::numeric_limits<double>::quiet_NaN();
  if (!e4m3 && exponent == 31) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int significand = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  return sign * std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
}

inline double defined_scale(std::uint8_t scale) {
  return scale == 0xFF ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, scale - 127);
}

class Operand {
 public:
  Operand(ElementFormat format, std::int64_t rows, std::int64_t k, std::int64_t gap = 5)
      : format_(format),
        rows_(rows),
        k_(k),
        pitch_(k + gap),
        scale_pitch_(scale_row_bytes(k) + gap),
        codes_(static_cast<std::size_t>(rows * pitch_), 0x7F),
        scales_(static_cast<std::size_t>(rows * scale_pitch_), 0xFF) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t e = 0; e < k; ++e) code(i, e) = 0;
      for (std::int64_t g = 0; g < groups(); ++g) scale(i, g) = 127;
    }
  }

  std::int64_t groups() const { return ceil_div(k_, kGroup); }
  std::uint8_t& code(std::int64_t i, std::int64_t k) { return codes_[i * pitch_ + k]; }
  std::uint8_t& scale(std::int64_t i, std::int64_t g) { return scales_[i * scale_pitch_ + g]; }

  MxMatrix view() const {
    return {format_, rows_, k_, codes_.data(), pitch_, scales_.data(), scale_pitch_};
  }

  double value(std::int64_t i, std::int64_t k) const {
    return defined_value(format_, codes_[i * pitch_ + k]) *
           defined_scale(scales_[i * scale_pitch_ + k / kGroup]);
  }

  // Every finite code, subnormals and both zeros included.
  void fill_codes(Rng& rng) {
    const std::uint64_t count = format_ == ElementFormat::e4m3 ? 0x7F : 0x7C;
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t k = 0; k < k_; ++k) {
        const std::uint64_t magnitude = rng.below(count);
        code(i, k) = static_cast<std::uint8_t>(magnitude | ((rng.next() & 1) << 7));
      }
    }
  }

  // Scale bytes of [low, high], each unlike its neighbours in the row and in the column.
  void fill_scales(Rng& rng, int low, int high) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t g = 0; g < groups(); ++g) {
        do {
          scale(i, g) = static_cast<std::uint8_t>(low + rng.below(high - low + 1));
        } while ((g > 0 && scale(i, g) == scale(i, g - 1)) ||
                 (i > 0 && scale(i, g) == scale(i - 1, g)));
      }
    }
  }

 private:
  ElementFormat format_;
  std::int64_t rows_;
  std::int64_t k_;
  std::int64_t pitch_;
  std::int64_t scale_pitch_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint8_t> scales_;
};

}  // namespace tandem
