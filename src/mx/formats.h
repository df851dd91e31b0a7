// SPDX-License-Identifier: Apache-2.0
// The table of element formats: everything that differs between them, so that no other code asks
// which one it has.
#pragma once

#include <array>
#include <cstdint>

#include "tandem/types.h"

namespace tandem {

struct FormatTraits {
  ElementFormat format;
  int mantissa_bits;
  int emax;                  // exponent of the largest finite value
  float max_finite;          // 1.75 · 2^emax
  std::uint8_t nan_code;     // what quantising writes
  std::uint8_t scale_limit;  // largest scale byte that keeps max_finite · 2^(byte - 127) finite
  bool nan_is_exact_path;    // docs/numerics.md section 4
  bool (*is_nan)(std::uint8_t code);
  std::uint8_t (*encode)(float value, Saturation saturation);
  std::array<float, 256> values;  // by code
};

const FormatTraits& format_traits(ElementFormat format);

}  // namespace tandem
