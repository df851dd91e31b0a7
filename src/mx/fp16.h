// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tandem {

// The IEEE binary16 nearest to a value, ties to even: from 65520 on the result is infinity, NaN is
// quiet and keeps its sign, subnormals are kept.
std::uint16_t encode_fp16(float value);

// The value of a binary16, exact.
float decode_fp16(std::uint16_t code);

}  // namespace tandem
