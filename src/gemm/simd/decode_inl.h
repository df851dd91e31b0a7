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
#include <type_traits>

#include "gemm/simd/kernels.h"
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

// Codes as FP16 bit patterns, as many as the tag has lanes.
template <ElementFormat kFormat, class D16>
HWY_INLINE hn::Vec<D16> half_bits(D16 d16, const std::uint8_t* codes) {
  if constexpr (kFormat == ElementFormat::e4m3) {
    const hn::RebindToSigned<D16> d_wide;
    const hn::Rebind<std::int8_t, D16> d_code;
    const auto wide =
        hn::PromoteTo(d_wide, hn::LoadU(d_code, reinterpret_cast<const std::int8_t*>(codes)));
    const auto mask = hn::Set(d_wide, static_cast<std::int16_t>(0xBFFF));
    return hn::BitCast(d16, hn::And(hn::ShiftLeft<7>(wide), mask));
  } else {
    const hn::Rebind<std::uint8_t, D16> d_code;
    return hn::ShiftLeft<8>(hn::PromoteTo(d16, hn::LoadU(d_code, codes)));
  }
}

// kLanes codes, still to be multiplied by their group's factor.
template <ElementFormat kFormat>
HWY_INLINE V32 decode(const std::uint8_t* codes) {
  const F32 d;
  const hn::Rebind<hwy::float16_t, F32> d_half;
  const hn::Rebind<std::uint16_t, F32> d_bits;
  return hn::PromoteTo(d, hn::BitCast(d_half, half_bits<kFormat>(d_bits, codes)));
}

// A group's two blocks: kLanes values at `codes` and kLanes at `codes` + 16.
struct DecodedGroup {
  V32 first, second;
};

template <ElementFormat kFormat>
HWY_INLINE DecodedGroup decode_group(const std::uint8_t* codes, V32 factor) {
  if constexpr (kLanes == kBlock) {
    // One register of codes, widened once.
    const F32 d;
    const auto bits = half_bits<kFormat>(hn::ScalableTag<std::uint16_t>(), codes);
    const hn::Rebind<hwy::float16_t, F32> d_half;
    const hn::Half<hn::ScalableTag<std::uint16_t>> d_bits;
    return {hn::Mul(hn::PromoteTo(d, hn::BitCast(d_half, hn::LowerHalf(d_bits, bits))), factor),
            hn::Mul(hn::PromoteTo(d, hn::BitCast(d_half, hn::UpperHalf(d_bits, bits))), factor)};
  }
  return {hn::Mul(decode<kFormat>(codes), factor),
          hn::Mul(decode<kFormat>(codes + kBlock), factor)};
}

// 16 columns × 16 k's of codes to 16 k's × 16 columns: interleaving the first half of the vectors
// with the second, four times, is the transposition.
HWY_INLINE void transpose_block(const std::uint8_t* const* columns, int count, std::int64_t k,
                                std::int64_t length, std::uint8_t* out) {
  const hn::Full128<std::uint8_t> d;
  hn::Vec<decltype(d)> from[kPanelColumns];
  hn::Vec<decltype(d)> to[kPanelColumns];
  for (int column = 0; column < kPanelColumns; ++column) {
    from[column] = column < count ? hn::LoadU(d, columns[column] + k) : hn::Zero(d);
  }
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < kPanelColumns / 2; ++i) {
      to[2 * i] = hn::InterleaveLower(d, from[i], from[i + kPanelColumns / 2]);
      to[2 * i + 1] = hn::InterleaveUpper(d, from[i], from[i + kPanelColumns / 2]);
    }
    for (int i = 0; i < kPanelColumns; ++i) from[i] = to[i];
  }
  for (int i = 0; i < length; ++i) hn::Store(from[i], d, out + i * kPanelColumns);
}

HWY_NOINLINE void columns_to_codes(const ColumnsToCodes& step) {
  for (std::int64_t k = 0; k < step.k; k += kBlock) {
    const std::int64_t length = step.k - k < kBlock ? step.k - k : kBlock;
    transpose_block(step.codes, step.count, k, length, step.panel + k * kPanelColumns);
  }
  for (std::int64_t group = 0; group * kGroup < step.k; ++group) {
    std::uint8_t* scales = step.panel_scales + group * kPanelColumns;
    for (int column = 0; column < kPanelColumns; ++column) {
      scales[column] = column < step.count ? step.scales[column][group] : 0;
    }
  }
}

// kLanes factors of groups from their scale bytes.
template <ElementFormat kFormat>
HWY_INLINE V32 factors_of(const std::uint8_t* scales) {
  const hn::RebindToUnsigned<F32> d_bits;
  const hn::Rebind<std::uint8_t, F32> d_scale;
  const auto bias = hn::Set(d_bits, kFactorBias<kFormat>);
  const auto exponent = hn::Add(hn::PromoteTo(d_bits, hn::LoadU(d_scale, scales)), bias);
  const auto subnormal = hn::Set(d_bits, 0x00400000u);
  const auto is_zero = hn::Eq(exponent, hn::Zero(d_bits));
  return hn::BitCast(F32(), hn::IfThenElse(is_zero, subnormal, hn::ShiftLeft<23>(exponent)));
}

template <ElementFormat kFormat>
void decode_codes(const CodesToPanel& step) {
  const F32 d;
  for (std::int64_t first = 0; first < step.depth; first += kGroup) {
    const std::int64_t length = step.depth - first < kGroup ? step.depth - first : kGroup;
    for (std::int64_t lane = 0; lane < kPanelColumns; lane += kLanes) {
      const V32 factors = factors_of<kFormat>(step.scales + first / kGroup * kPanelColumns + lane);
      const std::uint8_t* codes = step.codes + first * kPanelColumns + lane;
      float* out = step.panel + first * kPanelColumns + lane;
      for (std::int64_t i = 0; i < length; ++i) {
        hn::Store(hn::Mul(decode<kFormat>(codes + i * kPanelColumns), factors), d,
                  out + i * kPanelColumns);
      }
    }
  }
}

HWY_NOINLINE void codes_to_panel(const CodesToPanel& step) {
  if (step.format == ElementFormat::e4m3) {
    decode_codes<ElementFormat::e4m3>(step);
  } else {
    decode_codes<ElementFormat::e5m2>(step);
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

// The same as pairs.
template <ElementFormat kFormat>
HWY_INLINE void decode_block(const std::uint8_t* codes, V32 factor, std::uint32_t* out) {
  const hn::ScalableTag<std::uint64_t> d_two;
  const hn::Rebind<std::uint32_t, decltype(d_two)> d_pair;
  for (std::int64_t lane = 0; lane < kBlock; lane += kLanes) {
    const auto two = hn::BitCast(d_two, hn::Mul(decode<kFormat>(codes + lane), factor));
    const auto first = hn::And(two, hn::Set(d_two, 0xFFFF0000u));
    const auto pairs = hn::Or(first, hn::ShiftRight<48>(two));
    hn::StoreU(hn::TruncateTo(d_pair, pairs), d_pair, out + lane / 2);
  }
}

template <ElementFormat kFormat, typename Out>
void decode_row(const RowToBlocks& step, Out* blocks) {
  const F32 d;
  const std::int64_t whole = step.k / kBlock;
  for (std::int64_t block = 0; block < whole; ++block) {
    const V32 factor = hn::Set(d, group_factor<kFormat>(step.scales[block * kBlock / kGroup]));
    decode_block<kFormat>(step.codes + block * kBlock, factor, blocks + block * step.block_stride);
  }
  const std::int64_t rest = step.k - whole * kBlock;
  if (rest == 0) return;
  std::uint8_t last[kBlock] = {};
  std::memcpy(last, step.codes + whole * kBlock, static_cast<std::size_t>(rest));
  const V32 factor = hn::Set(d, group_factor<kFormat>(step.scales[whole * kBlock / kGroup]));
  Out* out = blocks + whole * step.block_stride;
  decode_block<kFormat>(last, factor, out);
  // A group beyond the exact path's limits decodes its padding to 0 · infinity.
  if constexpr (std::is_same_v<Out, float>) {
    for (std::int64_t i = rest; i < kBlock; ++i) out[i] = 0.0f;
  } else {
    for (std::int64_t i = (rest + 1) / 2; i < kBlockPairs; ++i) out[i] = 0;
    if (rest % 2 == 1) out[rest / 2] &= 0xFFFF0000u;
  }
}

// k and k + 16 of a group in one word.
template <ElementFormat kFormat>
HWY_INLINE void decode_words(const std::uint8_t* codes, V32 factor, std::uint32_t* out) {
  const hn::RebindToUnsigned<F32> d;
  for (std::int64_t lane = 0; lane < kBlock; lane += kLanes) {
    const auto first = hn::BitCast(d, hn::Mul(decode<kFormat>(codes + lane), factor));
    const auto second = hn::BitCast(d, hn::Mul(decode<kFormat>(codes + kBlock + lane), factor));
    const auto upper = hn::And(first, hn::Set(d, 0xFFFF0000u));
    hn::StoreU(hn::Or(upper, hn::ShiftRight<16>(second)), d, out + lane);
  }
}

template <ElementFormat kFormat>
void decode_groups(const RowToBlocks& step) {
  const F32 d;
  const std::int64_t groups = (step.k + kGroup - 1) / kGroup;
  std::uint32_t* out = step.group_pairs;
  for (std::int64_t group = 0; group < groups; ++group, out += step.block_stride) {
    const V32 factor = hn::Set(d, group_factor<kFormat>(step.scales[group]));
    const std::int64_t rest = step.k - group * kGroup;
    if (rest >= kGroup) {
      decode_words<kFormat>(step.codes + group * kGroup, factor, out);
      continue;
    }
    std::uint8_t last[kGroup] = {};
    std::memcpy(last, step.codes + group * kGroup, static_cast<std::size_t>(rest));
    decode_words<kFormat>(last, factor, out);
    // A group beyond the exact path's limits decodes its padding to 0 · infinity.
    for (std::int64_t i = 0; i < kBlock; ++i) {
      if (i + kBlock >= rest) out[i] &= 0xFFFF0000u;
      if (i >= rest) out[i] = 0;
    }
  }
  if (groups % 2 == 1) {
    for (std::int64_t i = 0; i < kBlock; ++i) out[i] = 0;
  }
}

template <typename Out>
HWY_INLINE void row_to(const RowToBlocks& step, Out* blocks) {
  if (step.format == ElementFormat::e4m3) {
    decode_row<ElementFormat::e4m3>(step, blocks);
  } else {
    decode_row<ElementFormat::e5m2>(step, blocks);
  }
}

HWY_NOINLINE void row_to_blocks(const RowToBlocks& step) {
  if (step.pairs != nullptr) {
    row_to(step, step.pairs);
  } else if (step.group_pairs != nullptr) {
    if (step.format == ElementFormat::e4m3) {
      decode_groups<ElementFormat::e4m3>(step);
    } else {
      decode_groups<ElementFormat::e5m2>(step);
    }
  } else {
    row_to(step, step.blocks);
  }
}

HWY_NOINLINE bool has_tiny(const float* sums, std::int64_t count) {
  const F32 d;
  const auto limit = hn::Set(d, kTinySum);
  const hn::RebindToUnsigned<F32> d_bits;
  auto found = hn::FirstN(d, 0);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const V32 sum = hn::LoadU(d, sums + i);
    const auto counts = hn::Ne(hn::BitCast(d_bits, sum), hn::Zero(d_bits));
    found = hn::Or(found, hn::And(hn::RebindMask(d, counts), hn::Lt(hn::Abs(sum), limit)));
  }
  if (!hn::AllFalse(d, found)) return true;
  for (; i < count; ++i) {
    if (is_tiny(sums[i])) return true;
  }
  return false;
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
