// SPDX-License-Identifier: Apache-2.0
#include "mx/output.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "mx/bf16.h"
#include "mx/fp16.h"
#include "mx/small_float.h"

namespace tandem {
namespace {

void store16(std::uint16_t code, void* destination) {
  std::memcpy(destination, &code, sizeof code);
}

std::uint16_t load16(const void* source) {
  std::uint16_t code = 0;
  std::memcpy(&code, source, sizeof code);
  return code;
}

}  // namespace

void round_to(OutputType type, float value, void* destination) {
  switch (type) {
    case OutputType::bf16:
      return store16(encode_bf16(value), destination);
    case OutputType::fp16:
      return store16(encode_fp16(value), destination);
    case OutputType::fp32: {
      std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
      if ((bits & ~kFp32Sign) > kFp32Infinity) bits |= kFp32QuietNan;
      std::memcpy(destination, &bits, sizeof bits);
      return;
    }
  }
}

float widen(OutputType type, const void* source) {
  switch (type) {
    case OutputType::bf16:
      return decode_bf16(load16(source));
    case OutputType::fp16:
      return decode_fp16(load16(source));
    case OutputType::fp32:
      break;
  }
  float value = 0;
  std::memcpy(&value, source, sizeof value);
  return value;
}

}  // namespace tandem
