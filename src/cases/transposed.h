// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tandem {

// (rows, columns) → (columns, rows).
template <typename T>
std::vector<T> transposed(const T* values, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBlock = 32;  // a block's lines stay in L1, also of FP32
  std::vector<T> out(static_cast<std::size_t>(rows * columns));
  for (std::int64_t first = 0; first < rows; first += kBlock) {
    const std::int64_t end = std::min(rows, first + kBlock);
    for (std::int64_t column = 0; column < columns; ++column) {
      for (std::int64_t row = first; row < end; ++row) {
        out[column * rows + row] = values[row * columns + column];
      }
    }
  }
  return out;
}

}  // namespace tandem
