// SPDX-License-Identifier: Apache-2.0
// 64-bit size arithmetic that refuses to wrap.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "tandem/error.h"

namespace tandem {

// The product of sizes, or nothing if it leaves 63 bits.
inline std::optional<std::int64_t> try_multiply(std::initializer_list<std::int64_t> sizes) {
  std::int64_t product = 1;
  for (std::int64_t size : sizes) {
    if (__builtin_mul_overflow(product, size, &product)) return std::nullopt;
  }
  return product;
}

// The product of sizes; throws Error{refused} if it leaves 63 bits.
inline std::int64_t multiply(std::initializer_list<std::int64_t> sizes) {
  auto product = try_multiply(sizes);
  if (!product) {
    throw Error(ErrorKind::refused,
                "size: a product of extents exceeds 2^63 - 1 bytes; use a "
                "smaller shape");
  }
  return *product;
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }
constexpr std::int64_t round_down(std::int64_t a, std::int64_t b) { return a / b * b; }

}  // namespace tandem
