// SPDX-License-Identifier: Apache-2.0
// What the small binary floating-point formats share: rounding an FP32 magnitude once to a format
// of few bits, and widening it back. Codes are taken without their sign.
#pragma once

#include <bit>
#include <cstdint>

namespace tandem {

inline constexpr std::uint32_t kFp32Sign = 0x80000000u;
inline constexpr std::uint32_t kFp32Infinity = 0x7F800000u;
inline constexpr std::uint32_t kFp32QuietNan = 0x7FC00000u;

// value / 2^shift, nearest even; 0 < shift < 32, and no carry out of 32 bits.
constexpr std::uint32_t shift_to_nearest_even(std::uint32_t value, int shift) {
  const std::uint32_t odd = (value >> shift) & 1;
  return (value + (1u << (shift - 1)) - 1 + odd) >> shift;
}

// Rounds a finite FP32 magnitude to exponent and mantissa fields of the format, in one step,
// subnormals included. The result may lie above the largest finite code: codes go on counting.
template <int kMantissaBits, int kBias>
constexpr std::uint32_t round_magnitude(std::uint32_t magnitude) {
  constexpr int kShift = 23 - kMantissaBits;
  constexpr std::uint32_t kMinNormal = static_cast<std::uint32_t>(128 - kBias) << 23;
  if (magnitude >= kMinNormal) {
    return shift_to_nearest_even(magnitude, kShift) -
           (static_cast<std::uint32_t>(127 - kBias) << kMantissaBits);
  }
  const bool subnormal = magnitude < 0x00800000u;
  const int exponent = subnormal ? 1 : static_cast<int>(magnitude >> 23);
  const std::uint32_t significand = (magnitude & 0x007FFFFFu) | (subnormal ? 0 : 0x00800000u);
  const int shift = kShift + 128 - kBias - exponent;
  // A significand has 24 bits: from a shift of 25 on it is below half of the smallest code.
  return shift > 24 ? 0 : shift_to_nearest_even(significand, shift);
}

// The FP32 bits of a finite code.
template <int kMantissaBits, int kBias>
constexpr std::uint32_t widen_magnitude(std::uint32_t code) {
  constexpr std::uint32_t kMantissaMask = (1u << kMantissaBits) - 1;
  const std::uint32_t exponent = code >> kMantissaBits;
  if (exponent != 0) {
    return (code << (23 - kMantissaBits)) + (static_cast<std::uint32_t>(127 - kBias) << 23);
  }
  // A subnormal code counts units of 2^(1 - bias - mantissa bits), a normal FP32 number.
  constexpr std::uint32_t kUnit = static_cast<std::uint32_t>(128 - kBias - kMantissaBits) << 23;
  return std::bit_cast<std::uint32_t>(static_cast<float>(code & kMantissaMask) *
                                      std::bit_cast<float>(kUnit));
}

}  // namespace tandem
