// SPDX-License-Identifier: Apache-2.0
// Operands and results for this folder's tests: exact-size memory (so that address sanitizer sees
// a read too far), poisoned padding, canaries around the results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/rng.h"
#include "gemm/tile_product.h"
#include "mx/matrix.h"
#include "mx/reference_product.h"

namespace tandem::gemm {

inline constexpr std::uint8_t kBf16Scale = 16;    // no value but zero is below 2^-127
inline constexpr std::uint8_t kCoarseScale = 80;  // nor below 2^-63

// rows × k codes and scales; padding between rows is NaN codes and NaN scales.
class Operand {
 public:
  Operand(ElementFormat format, std::int64_t rows, std::int64_t k, std::int64_t padding)
      : format_(format),
        rows_(rows),
        k_(k),
        pitch_(k + padding),
        scale_pitch_(scale_row_bytes(k) + padding) {
    const std::int64_t groups = ceil_div(k, kGroup);
    if (rows == 0) return;
    codes_.assign(static_cast<std::size_t>((rows - 1) * pitch_ + k), 0x7F);
    scales_.assign(static_cast<std::size_t>((rows - 1) * scale_pitch_ + groups), 0xFF);
  }

  // Finite values of moderate size, both signs, zeros and subnormals, a few tiny scales.
  static Operand random(ElementFormat format, std::int64_t rows, std::int64_t k,
                        std::int64_t padding, Rng& rng) {
    Operand operand(format, rows, k, padding);
    const int exponents = format == ElementFormat::e4m3 ? 0x7F : 0x7C;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < k; ++i) {
        const auto magnitude = rng.below(static_cast<std::uint64_t>(exponents));
        const auto sign = rng.below(2) << 7;
        operand.code(row, i) = static_cast<std::uint8_t>(magnitude | sign);
      }
      for (std::int64_t group = 0; group < ceil_div(k, kGroup); ++group) {
        const bool tiny = rng.below(16) == 0;
        const auto scale = tiny ? rng.below(4) : 110 + rng.below(30);
        operand.scale(row, group) = static_cast<std::uint8_t>(scale);
      }
    }
    return operand;
  }
  // To kBf16Scale, and packed weights are BF16; to kCoarseScale, and all rows are coarse.
  void raise_scales(std::uint8_t least) {
    for (std::int64_t row = 0; row < view().rows; ++row) {
      for (std::int64_t group = 0; group < ceil_div(view().k, kGroup); ++group) {
        scale(row, group) = std::max(scale(row, group), least);
      }
    }
  }

  std::uint8_t& code(std::int64_t row, std::int64_t i) {
    return codes_[static_cast<std::size_t>(row * pitch_ + i)];
  }
  std::uint8_t& scale(std::int64_t row, std::int64_t group) {
    return scales_[static_cast<std::size_t>(row * scale_pitch_ + group)];
  }
  MxMatrix view() const {
    return {.format = format_,
            .rows = rows_,
            .k = k_,
            .codes = codes_.data(),
            .pitch = pitch_,
            .scales = scales_.data(),
            .scale_pitch = scale_pitch_};
  }

  // Rows [first, first + count) in memory of their own.
  Operand part(std::int64_t first, std::int64_t count, std::int64_t padding) const {
    Operand copy(format_, count, k_, padding);
    const MxMatrix source = view();
    for (std::int64_t row = 0; row < count; ++row) {
      for (std::int64_t i = 0; i < k_; ++i) copy.code(row, i) = source.row(first + row)[i];
      for (std::int64_t group = 0; group < ceil_div(k_, kGroup); ++group) {
        copy.scale(row, group) = source.scale_row(first + row)[group];
      }
    }
    return copy;
  }

 private:
  ElementFormat format_;
  std::int64_t rows_, k_, pitch_, scale_pitch_;
  std::vector<std::uint8_t> codes_, scales_;
};

// m × n FP32 results amid canaries: before, after and between the rows.
class Results {
 public:
  Results(std::int64_t m, std::int64_t n)
      : m_(m),
        n_(n),
        pitch_(n + 3),
        values_(static_cast<std::size_t>(kGuard + m * pitch_ + kGuard),
                std::bit_cast<float>(kCanary)) {}

  float& at(std::int64_t i, std::int64_t j) { return data()[i * pitch_ + j]; }
  float* data() { return values_.data() + kGuard; }
  std::int64_t pitch() const { return pitch_; }
  Accumulators accumulators() { return {data(), pitch_}; }

  void fill(float value) {
    for (std::int64_t i = 0; i < m_; ++i) {
      for (std::int64_t j = 0; j < n_; ++j) at(i, j) = value;
    }
  }

  // Stored partial sums, a few of them −0 unless told otherwise.
  void fill_random(Rng& rng, bool minus_zeros = true) {
    for (std::int64_t i = 0; i < m_; ++i) {
      for (std::int64_t j = 0; j < n_; ++j) {
        const float value = rng.normal();
        at(i, j) = minus_zeros && rng.below(8) == 0 ? -0.0f : value;
      }
    }
  }

  std::int64_t damaged_canaries() {
    std::int64_t damaged = 0;
    for (std::int64_t index = 0; index < static_cast<std::int64_t>(values_.size()); ++index) {
      const std::int64_t offset = index - kGuard;
      const bool inside = offset >= 0 && offset < m_ * pitch_ && offset % pitch_ < n_;
      const float value = values_[static_cast<std::size_t>(index)];
      if (!inside && std::bit_cast<std::uint32_t>(value) != kCanary) ++damaged;
    }
    return damaged;
  }

  // Equal to the bit, NaN payloads aside; reports the first difference.
  ::testing::AssertionResult equals(Results& expected) {
    for (std::int64_t i = 0; i < m_; ++i) {
      for (std::int64_t j = 0; j < n_; ++j) {
        const float a = at(i, j), b = expected.at(i, j);
        if (std::isnan(a) && std::isnan(b)) continue;
        if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b)) continue;
        return ::testing::AssertionFailure()
               << "element (" << i << ", " << j << "): " << a << " 0x" << std::hex
               << std::bit_cast<std::uint32_t>(a) << ", expected " << b << " 0x"
               << std::bit_cast<std::uint32_t>(b);
      }
    }
    if (damaged_canaries() != 0) return ::testing::AssertionFailure() << "written outside";
    return ::testing::AssertionSuccess();
  }

 private:
  static constexpr std::int64_t kGuard = 64;
  static constexpr std::uint32_t kCanary = 0x7FC0DEAD;
  std::int64_t m_, n_, pitch_;
  std::vector<float> values_;
};

// Forces each SIMD target in turn, and the best again at the end.
template <typename Body>
void for_each_target(Body body) {
  for (const char* target : simd_targets()) {
    SCOPED_TRACE(target);
    force_simd_target(target);
    body();
    force_simd_target("");
    if (::testing::Test::HasFailure()) return;
  }
}

inline const std::function<void()> kNoPause;

// One tile, packed and multiplied in one go, all columns of the segment.
inline void multiply_tile(const MxMatrix& a, const MxMatrix& b, SumOrder order, Start start,
                          Results& results) {
  PackedRows rows;
  rows.pack(std::span(&a, 1), order);
  const PackedWeights weights(std::span(&b, 1));
  multiply(rows, weights, 0, 0, b.rows, order, start, results.accumulators(), kNoPause);
}

inline const ElementFormat kFormats[] = {ElementFormat::e4m3, ElementFormat::e5m2};
inline const SumOrder kOrders[] = {SumOrder::panel, SumOrder::lane};

}  // namespace tandem::gemm
