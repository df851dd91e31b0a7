// SPDX-License-Identifier: Apache-2.0
#include "mx/formats.h"

#include "mx/e4m3.h"
#include "mx/e5m2.h"

namespace tandem {
namespace {

constexpr std::array<float, 256> table_of(float (*decode)(std::uint8_t)) {
  std::array<float, 256> values{};
  for (int code = 0; code < 256; ++code) values[code] = decode(static_cast<std::uint8_t>(code));
  return values;
}

// In the order of the enumeration.
constexpr FormatTraits kFormats[] = {
    {.format = ElementFormat::e4m3,
     .mantissa_bits = 3,
     .emax = 8,
     .max_finite = 448.0f,
     .nan_code = 0x7F,
     .scale_limit = 246,
     .nan_is_exact_path = true,
     .is_nan = [](std::uint8_t code) { return is_nan_e4m3(code); },
     .encode = encode_e4m3,
     .values = table_of([](std::uint8_t code) { return decode_e4m3(code); })},
    {.format = ElementFormat::e5m2,
     .mantissa_bits = 2,
     .emax = 15,
     .max_finite = 57344.0f,
     .nan_code = 0x7F,
     .scale_limit = 239,
     .nan_is_exact_path = false,
     .is_nan = [](std::uint8_t code) { return is_nan_e5m2(code); },
     .encode = encode_e5m2,
     .values = table_of([](std::uint8_t code) { return decode_e5m2(code); })},
};

static_assert(kFormats[0].format == ElementFormat::e4m3);
static_assert(kFormats[1].format == ElementFormat::e5m2);

}  // namespace

const FormatTraits& format_traits(ElementFormat format) {
  return kFormats[static_cast<int>(format)];
}

}  // namespace tandem
