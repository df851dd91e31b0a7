// SPDX-License-Identifier: Apache-2.0
#include "mx/e4m3.h"

namespace tandem {
namespace {

constexpr std::uint32_t kMaxFinite = 0x7E;
constexpr std::uint32_t kNan = 0x7F;

}  // namespace

std::uint8_t encode_e4m3(float value, Saturation saturation) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31 << 7;
  const std::uint32_t magnitude = bits & ~kFp32Sign;
  if (magnitude >= kFp32Infinity) return static_cast<std::uint8_t>(sign | kNan);
  std::uint32_t code = round_magnitude<3, 7>(magnitude);
  if (code > kMaxFinite) code = saturation == Saturation::saturate ? kMaxFinite : kNan;
  return static_cast<std::uint8_t>(sign | code);
}

}  // namespace tandem
