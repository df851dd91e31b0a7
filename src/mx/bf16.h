// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tandem {

// The bfloat16 nearest to a value, ties to even: overflow is infinity, NaN is quiet and keeps its
// sign, subnormals are kept.
std::uint16_t encode_bf16(float value);

// The value of a bfloat16, exact.
float decode_bf16(std::uint16_t code);

}  // namespace tandem
