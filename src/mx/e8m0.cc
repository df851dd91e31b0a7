// SPDX-License-Identifier: Apache-2.0
#include "mx/e8m0.h"

#include <bit>

#include "mx/small_float.h"

namespace tandem {
namespace {

constexpr std::uint32_t kTwoToMinus127 = 0x00400000u;

}  // namespace

float decode_e8m0(std::uint8_t scale) {
  if (scale == kScaleNan) return std::bit_cast<float>(kFp32QuietNan);
  const std::uint32_t bits = scale == 0 ? kTwoToMinus127 : static_cast<std::uint32_t>(scale) << 23;
  return std::bit_cast<float>(bits);
}

float reciprocal_e8m0(std::uint8_t scale) {
  return decode_e8m0(scale == kScaleNan ? kScaleNan : static_cast<std::uint8_t>(254 - scale));
}

}  // namespace tandem
