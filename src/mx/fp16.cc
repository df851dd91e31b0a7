// SPDX-License-Identifier: Apache-2.0
#include "mx/fp16.h"

#include <algorithm>
#include <bit>

#include "mx/small_float.h"

namespace tandem {
namespace {

constexpr std::uint32_t kInfinity = 0x7C00;

}  // namespace

std::uint16_t encode_fp16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31 << 15;
  const std::uint32_t magnitude = bits & ~kFp32Sign;
  if (magnitude > kFp32Infinity) {
    return static_cast<std::uint16_t>(sign | kInfinity | 0x0200 | ((magnitude >> 13) & 0x03FF));
  }
  if (magnitude == kFp32Infinity) return static_cast<std::uint16_t>(sign | kInfinity);
  return static_cast<std::uint16_t>(sign | std::min(round_magnitude<10, 15>(magnitude), kInfinity));
}

float decode_fp16(std::uint16_t code) {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x8000) << 16;
  const std::uint32_t magnitude = code & 0x7FFFu;
  if (magnitude >= kInfinity) {
    return std::bit_cast<float>(sign | kFp32Infinity | ((magnitude & 0x03FF) << 13));
  }
  return std::bit_cast<float>(sign | widen_magnitude<10, 15>(magnitude));
}

}  // namespace tandem
