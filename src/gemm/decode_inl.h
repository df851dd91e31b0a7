// SPDX-License-Identifier: Apache-2.0
// Exact decoding of MX codes to FP32, per instruction set. E4M3 and E5M2 codes become FP16 bit
// patterns with one shift: E5M2 is the upper byte of FP16, E4M3 lands 2^8 too low, which the
// factor of the group makes good.

// Highway includes this once per instruction set: the guard toggles.
#if defined(TANDEM_GEMM_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_GEMM_DECODE_INL_H_
#undef TANDEM_GEMM_DECODE_INL_H_
#else
#define TANDEM_GEMM_DECODE_INL_H_
#endif

#include <cstring>

#include "gemm/kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;
inline constexpr std::int64_t kLanes = HWY_LANES(float);
static_assert(kLanes == 4 || kLanes == 8 || kLanes == 16);

// The code's sign goes to bit 15 and the rest to bits 13..7, which puts 2^-8 times its value there.
inline constexpr std::uint32_t kE4m3Bias = 8;

template <ElementFormat kFormat>
inline constexpr std::uint32_t kFactorBias = kFormat == ElementFormat::e4m3 ? kE4m3Bias : 0;

template <ElementFormat kFormat>
HWY_INLINE float group_factor(std::uint8_t scale) {
  const std::uint32_t bits = factor_bits(scale, kFactorBias<kFormat>);
  float factor;
  std::memcpy(&factor, &bits, sizeof(factor));
  return factor;
}

// kLanes codes, still to be multiplied by their group's factor.
template <ElementFormat kFormat>
HWY_INLINE V32 decode(const std::uint8_t* codes) {
  const F32 d;
  const hn::Rebind<hwy::float16_t, F32> d_half;
  if constexpr (kFormat == ElementFormat::e4m3) {
    const hn::Rebind<std::int8_t, F32> d_code;
    const hn::Rebind<std::int16_t, F32> d_wide;
    const auto wide =
        hn::PromoteTo(d_wide, hn::LoadU(d_code, reinterpret_cast<const std::int8_t*>(codes)));
    const auto bits =
        hn::And(hn::ShiftLeft<7>(wide), hn::Set(d_wide, static_cast<std::int16_t>(0xBFFF)));
    return hn::PromoteTo(d, hn::BitCast(d_half, bits));
  } else {
    const hn::Rebind<std::uint8_t, F32> d_code;
    const hn::Rebind<std::uint16_t, F32> d_wide;
    const auto wide = hn::PromoteTo(d_wide, hn::LoadU(d_code, codes));
    return hn::PromoteTo(d, hn::BitCast(d_half, hn::ShiftLeft<8>(wide)));
  }
}

template <ElementFormat kFormat>
void decode_columns(const ColumnsToPanel& step) {
  const F32 d;
  HWY_ALIGN float factors[kPanelColumns] = {};
  HWY_ALIGN std::uint8_t transposed[kGroup * kPanelColumns] = {};
  float* out = step.panel;
  for (std::int64_t first = 0; first < step.k; first += kGroup) {
    const std::int64_t length = step.k - first < kGroup ? step.k - first : kGroup;
    for (int column = 0; column < step.count; ++column) {
      const std::uint8_t* codes = step.codes[column] + first;
      for (std::int64_t i = 0; i < length; ++i) transposed[i * kPanelColumns + column] = codes[i];
      factors[column] = group_factor<kFormat>(step.scales[column][first / kGroup]);
    }
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t lane = 0; lane < kPanelColumns; lane += kLanes) {
        const V32 values = hn::Mul(decode<kFormat>(transposed + i * kPanelColumns + lane),
                                   hn::Load(d, factors + lane));
        hn::Store(values, d, out + lane);
      }
      out += kPanelColumns;
    }
  }
}

HWY_NOINLINE void columns_to_panel(const ColumnsToPanel& step) {
  if (step.format == ElementFormat::e4m3) {
    decode_columns<ElementFormat::e4m3>(step);
  } else {
    decode_columns<ElementFormat::e5m2>(step);
  }
}

// One block of 16 codes of one group.
template <ElementFormat kFormat>
HWY_INLINE void decode_block(const std::uint8_t* codes, V32 factor, float* out) {
  const F32 d;
  for (std::int64_t lane = 0; lane < kBlock; lane += kLanes) {
    hn::Store(hn::Mul(decode<kFormat>(codes + lane), factor), d, out + lane);
  }
}

template <ElementFormat kFormat>
void decode_row(const RowToBlocks& step) {
  const F32 d;
  const std::int64_t whole = step.k / kBlock;
  for (std::int64_t block = 0; block < whole; ++block) {
    const V32 factor = hn::Set(d, group_factor<kFormat>(step.scales[block * kBlock / kGroup]));
    decode_block<kFormat>(step.codes + block * kBlock, factor,
                          step.blocks + block * step.block_stride);
  }
  const std::int64_t rest = step.k - whole * kBlock;
  if (rest == 0) return;
  std::uint8_t last[kBlock] = {};
  std::memcpy(last, step.codes + whole * kBlock, static_cast<std::size_t>(rest));
  const V32 factor = hn::Set(d, group_factor<kFormat>(step.scales[whole * kBlock / kGroup]));
  decode_block<kFormat>(last, factor, step.blocks + whole * step.block_stride);
  // A group beyond the exact path's limits decodes its padding to 0 · infinity.
  for (std::int64_t i = rest; i < kBlock; ++i) step.blocks[whole * step.block_stride + i] = 0.0f;
}

HWY_NOINLINE void row_to_blocks(const RowToBlocks& step) {
  if (step.format == ElementFormat::e4m3) {
    decode_row<ElementFormat::e4m3>(step);
  } else {
    decode_row<ElementFormat::e5m2>(step);
  }
}

HWY_NOINLINE bool has_all_ones(const std::uint8_t* codes, std::int64_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::int64_t lanes = HWY_LANES(std::uint8_t);
  const auto magnitude = hn::Set(d, static_cast<std::uint8_t>(0x7F));
  auto largest = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    largest = hn::Max(largest, hn::And(hn::LoadU(d, codes + i), magnitude));
  }
  if (!hn::AllFalse(d, hn::Eq(largest, magnitude))) return true;
  for (; i < count; ++i) {
    if ((codes[i] & 0x7F) == 0x7F) return true;
  }
  return false;
}

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_DECODE_INL_H_
