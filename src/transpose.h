// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tandem {

// destination[column][row] = source[row][column], for rows × columns bytes.
void transpose_bytes(const std::uint8_t* source, std::int64_t rows, std::int64_t columns,
                     std::uint8_t* destination);

}  // namespace tandem
