// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "mx/matrix.h"

namespace tandem {

// Chooses the E8M0 scale byte of a group whose largest magnitude is `amax` (which may be NaN or
// infinite: then 0xFF). OCP MX 1.0 section 6.3 for `floor`; docs/numerics.md for the others.
std::uint8_t choose_scale(float amax, ElementFormat format, ScaleMode mode);

// Quantises rows × k FP32 values, `pitch` elements apart, to codes (`code_pitch` bytes apart) and
// scales (`scale_pitch` ≥ scale_row_bytes(k) bytes apart). Elements round to nearest even and
// saturate; a pad scale byte is written 0x00; a group with NaN or infinity gets scale 0xFF.
void quantise_rows(const float* values, std::int64_t rows, std::int64_t k, std::int64_t pitch,
                   ElementFormat format, ScaleMode mode, std::uint8_t* codes,
                   std::int64_t code_pitch, std::uint8_t* scales, std::int64_t scale_pitch);

// The values of an MX matrix, rows × k, `pitch` elements apart.
void dequantise_rows(const MxMatrix& matrix, float* values, std::int64_t pitch);

}  // namespace tandem
