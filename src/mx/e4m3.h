// SPDX-License-Identifier: Apache-2.0
// OCP OFP8 E4M3 (often "E4M3FN"): s eeee mmm, bias 7, largest 448, no infinity, NaN 0x7F and 0xFF
// alone. The FNUZ variant of some devices has other values for the same codes and is not meant.
#pragma once

#include <bit>
#include <cstdint>

#include "mx/small_float.h"
#include "tandem/types.h"

namespace tandem {

constexpr bool is_nan_e4m3(std::uint8_t code) { return (code & 0x7F) == 0x7F; }

// The value of a code, exact; a NaN code gives a quiet NaN of its sign.
constexpr float decode_e4m3(std::uint8_t code) {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80) << 24;
  const std::uint32_t magnitude =
      is_nan_e4m3(code) ? kFp32QuietNan : widen_magnitude<3, 7>(code & 0x7F);
  return std::bit_cast<float>(sign | magnitude);
}

// The code nearest to a value, ties to even; the sign is kept, on zero and NaN too. From 464 on
// (464 itself ties to 448) the result is NaN, or 448 if finite overflow saturates; infinity is NaN.
std::uint8_t encode_e4m3(float value, Saturation saturation);

}  // namespace tandem
