// SPDX-License-Identifier: Apache-2.0
#include "mx/bf16.h"

#include <bit>

#include "mx/small_float.h"

namespace tandem {

std::uint16_t encode_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31 << 15;
  const std::uint32_t magnitude = bits & ~kFp32Sign;
  if (magnitude > kFp32Infinity) {
    return static_cast<std::uint16_t>(sign | (magnitude >> 16) | 0x0040);
  }
  // The exponent fields agree, so that a carry out of the largest finite code gives infinity and
  // infinity stays what it is.
  return static_cast<std::uint16_t>(sign | shift_to_nearest_even(magnitude, 16));
}

float decode_bf16(std::uint16_t code) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
}

}  // namespace tandem
