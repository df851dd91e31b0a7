// SPDX-License-Identifier: Apache-2.0
#include "mx/e5m2.h"

namespace tandem {
namespace {

constexpr std::uint32_t kMaxFinite = 0x7B;
constexpr std::uint32_t kInfinity = 0x7C;
constexpr std::uint32_t kNan = 0x7F;

}  // namespace

std::uint8_t encode_e5m2(float value, Saturation saturation) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31 << 7;
  const std::uint32_t magnitude = bits & ~kFp32Sign;
  if (magnitude > kFp32Infinity) return static_cast<std::uint8_t>(sign | kNan);
  if (magnitude == kFp32Infinity) return static_cast<std::uint8_t>(sign | kInfinity);
  std::uint32_t code = round_magnitude<2, 15>(magnitude);
  if (code > kMaxFinite) code = saturation == Saturation::saturate ? kMaxFinite : kInfinity;
  return static_cast<std::uint8_t>(sign | code);
}

}  // namespace tandem
