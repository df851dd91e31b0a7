// SPDX-License-Identifier: Apache-2.0
// OCP OFP8 E5M2: s eeeee mm, bias 15, largest 57344, infinity 0x7C, NaN 0x7D to 0x7F: the upper
// byte of an IEEE binary16.
#pragma once

#include <bit>
#include <cstdint>

#include "mx/small_float.h"
#include "tandem/types.h"

namespace tandem {

constexpr bool is_nan_e5m2(std::uint8_t code) { return (code & 0x7F) > 0x7C; }

// The value of a code, exact; a NaN code gives a quiet NaN of its sign.
constexpr float decode_e5m2(std::uint8_t code) {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80) << 24;
  std::uint32_t magnitude = 0;
  if (is_nan_e5m2(code)) {
    magnitude = kFp32QuietNan;
  } else if ((code & 0x7F) == 0x7C) {
    magnitude = kFp32Infinity;
  } else {
    magnitude = widen_magnitude<2, 15>(code & 0x7F);
  }
  return std::bit_cast<float>(sign | magnitude);
}

// The code nearest to a value, ties to even; the sign is kept, on zero and NaN too. From 61440 on
// the result is infinity, or 57344 if finite overflow saturates; infinity stays infinity.
std::uint8_t encode_e5m2(float value, Saturation saturation);

}  // namespace tandem
