// SPDX-License-Identifier: Apache-2.0
#include "transpose.h"

#include <algorithm>

namespace tandem {

void transpose_bytes(const std::uint8_t* source, std::int64_t rows, std::int64_t columns,
                     std::uint8_t* destination) {
  constexpr std::int64_t kBlock = 64;  // a block's source and destination lines stay in L1
  for (std::int64_t row0 = 0; row0 < rows; row0 += kBlock) {
    const std::int64_t row1 = std::min(rows, row0 + kBlock);
    for (std::int64_t column0 = 0; column0 < columns; column0 += kBlock) {
      const std::int64_t column1 = std::min(columns, column0 + kBlock);
      for (std::int64_t column = column0; column < column1; ++column) {
        for (std::int64_t row = row0; row < row1; ++row) {
          destination[column * rows + row] = source[row * columns + column];
        }
      }
    }
  }
}

}  // namespace tandem
