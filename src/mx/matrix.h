// SPDX-License-Identifier: Apache-2.0
// Views of MX operands in canonical form: one row of 8-bit codes per row of A or column of B, one
// row of E8M0 scale bytes beside it, a scale per group of 32 along K.
#pragma once

#include <cstdint>

#include "base/checked.h"
#include "tandem/types.h"

namespace tandem {

inline constexpr std::int64_t kGroup = 32;      // elements along K that share a scale
inline constexpr std::int64_t kScaleUnit = 64;  // scales are stored in pairs

// Scale bytes of a row of k elements: 2·ceil(k/64). The pad byte of an odd count is never read.
constexpr std::int64_t scale_row_bytes(std::int64_t k) { return 2 * ceil_div(k, kScaleUnit); }

// rows × k codes and their scales, not owned.
struct MxMatrix {
  ElementFormat format = ElementFormat::e4m3;
  std::int64_t rows = 0;
  std::int64_t k = 0;
  const std::uint8_t* codes = nullptr;
  std::int64_t pitch = 0;  // bytes between rows of codes
  const std::uint8_t* scales = nullptr;
  std::int64_t scale_pitch = 0;  // bytes between rows of scales

  const std::uint8_t* row(std::int64_t i) const { return codes + i * pitch; }
  const std::uint8_t* scale_row(std::int64_t i) const { return scales + i * scale_pitch; }
  MxMatrix slice_rows(std::int64_t first, std::int64_t count) const {
    MxMatrix part = *this;
    part.rows = count;
    part.codes += first * pitch;
    part.scales += first * scale_pitch;
    return part;
  }
};

}  // namespace tandem
