// SPDX-License-Identifier: Apache-2.0
// E8M0, the shared scale of a group: 2^(byte - 127), no sign, no zero, 0xFF is NaN.
#pragma once

#include <cstdint>

namespace tandem {

inline constexpr std::uint8_t kScaleNan = 0xFF;
inline constexpr std::uint8_t kScaleOne = 127;
inline constexpr int kScaleBias = 127;

// The value of a scale byte. 0x00 is 2^-127, an FP32 subnormal; 0xFF is a quiet NaN.
float decode_e8m0(std::uint8_t scale);

// 1 / value of a scale byte, exact: 0x00 gives 2^127, 0xFE gives 2^-127, 0xFF gives NaN.
float reciprocal_e8m0(std::uint8_t scale);

}  // namespace tandem
