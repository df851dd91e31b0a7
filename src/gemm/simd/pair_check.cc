// SPDX-License-Identifier: Apache-2.0
#include "gemm/simd/pair_check.h"

#include <bit>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "gemm/float_state.h"

namespace tandem::gemm {
namespace {

constexpr std::int64_t kDepth = 2 * kBlock;
constexpr int kTrials = 64;

// BF16 with eight significant bits between 2^-30 and 2^30, now and then a zero or an infinity.
std::uint32_t draw_bf16(Rng& rng) {
  const auto bits = static_cast<std::uint32_t>(rng.below(1u << 16));
  if (rng.below(64) == 0) return bits & 0x8000u;
  if (rng.below(4096) == 0) return (bits & 0x8000u) | 0x7F80u;
  const std::uint32_t exponent = 97 + static_cast<std::uint32_t>(rng.below(61));
  return (bits & 0x807Fu) | exponent << 7;
}

float first_of(std::uint32_t pair) { return std::bit_cast<float>(pair & 0xFFFF0000u); }
float second_of(std::uint32_t pair) { return std::bit_cast<float>(pair << 16); }

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

}  // namespace

bool has_pair_products() {
#if defined(__x86_64__)
  // The second for codes in lane order.
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vbmi");
#else
  return false;
#endif
}

bool pairs_sum_in_order(const Kernels& table) {
  const FloatState state;
  Rng rng(5);
  std::vector<std::uint32_t> rows(kPanelRows * kDepth / 2);
  alignas(64) std::uint32_t columns[kPanelColumns * kDepth / 2];
  for (int trial = 0; trial < kTrials; ++trial) {
    for (std::uint32_t& pair : rows) pair = draw_bf16(rng) << 16 | draw_bf16(rng);
    for (std::uint32_t& pair : columns) pair = draw_bf16(rng) << 16 | draw_bf16(rng);
    alignas(64) float sums[kPanelRows * kPanelColumns] = {};
    table.panel_step({.row_pairs = rows.data(),
                      .column_pairs = columns,
                      .depth = kDepth,
                      .sums = sums,
                      .pitch = kPanelColumns});
    for (std::int64_t i = 0; i < kPanelRows * kPanelColumns; ++i) {
      const std::int64_t row = i / kPanelColumns;
      const std::int64_t column = i % kPanelColumns;
      float sum = 0;
      for (std::int64_t pair = 0; pair < kDepth / 2; ++pair) {
        const std::uint32_t a =
            rows[(pair / kBlockPairs * kPanelRows + row) * kBlockPairs + pair % kBlockPairs];
        const std::uint32_t b = columns[pair * kPanelColumns + column];
        sum = std::fma(first_of(a), first_of(b), sum);
        sum = std::fma(second_of(a), second_of(b), sum);
      }
      if (!same(sum, sums[i])) return false;
    }
  }
  return true;
}

}  // namespace tandem::gemm
