// SPDX-License-Identifier: Apache-2.0
// Lane order on pairs: partial i takes k and then k + 16 of a group with one instruction. Codes
// become BF16 by a look-up of bytes, and their group's scale is added to the exponents.

#if defined(TANDEM_GEMM_LANE_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_GEMM_LANE_PAIRS_INL_H_
#undef TANDEM_GEMM_LANE_PAIRS_INL_H_
#else
#define TANDEM_GEMM_LANE_PAIRS_INL_H_
#endif

#include <array>

#include "gemm/simd/decode_inl.h"
#include "gemm/simd/kernels.h"
#include "gemm/simd/lane_rows_inl.h"
#include "gemm/simd/pair_products_inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

#if HWY_ARCH_X86_64 && (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL)

inline constexpr std::int64_t kUnit = 2 * kGroup;  // codes of a register
inline constexpr std::int64_t kGroupsMax = kLaneDepth / kGroup;

// What has to be added to the exponents of both halves of a word, for each group; an even count.
using GroupExponents = std::uint32_t[kLaneColumns][kGroupsMax];

HWY_INLINE void group_exponents(const std::uint8_t* scales, std::int64_t groups,
                                std::uint32_t* out) {
  for (std::int64_t group = 0; group < groups; ++group) {
    out[group] = (((scales[group] - 127u) << 7) & 0xFFFFu) * 0x00010001u;
  }
  if (groups % 2 == 1) out[groups] = 0;
}

// Where a byte of a word comes from: k + 16 in its lower half, k in its upper one; 64 and more are
// upper bytes of BF16.
alignas(64) inline constexpr auto kWordBytes = [] {
  std::array<std::uint8_t, 2 * 64> bytes{};
  for (int group = 0; group < 2; ++group) {
    for (int lane = 0; lane < 16; ++lane) {
      const int first = group * 32 + lane;
      std::uint8_t* word = bytes.data() + group * 64 + lane * 4;
      word[0] = static_cast<std::uint8_t>(first + 16);
      word[1] = static_cast<std::uint8_t>(first + 16 + 64);
      word[2] = static_cast<std::uint8_t>(first);
      word[3] = static_cast<std::uint8_t>(first + 64);
    }
  }
  return bytes;
}();

// Codes to words of BF16, by tables in registers.
class WordDecoder {
 public:
  HWY_INLINE explicit WordDecoder(const std::uint8_t* code_bytes)
      : low_first_(_mm512_load_si512(code_bytes)),
        low_second_(_mm512_load_si512(code_bytes + 64)),
        high_first_(_mm512_load_si512(code_bytes + 128)),
        high_second_(_mm512_load_si512(code_bytes + 192)),
        group_first_(_mm512_load_si512(kWordBytes.data())),
        group_second_(_mm512_load_si512(kWordBytes.data() + 64)),
        sign_(_mm512_set1_epi8(static_cast<char>(0x80))),
        magnitude_(_mm512_set1_epi32(0x7FFF7FFF)) {}

  struct Words {
    V32 first, second;  // of the two groups
  };

  // 64 codes of one column; `exponents` of its two groups.
  HWY_INLINE Words operator()(const std::uint8_t* codes, const std::uint32_t* exponents) const {
    const __m512i code = _mm512_loadu_si512(codes);
    // The index is seven bits: the sign is no part of it.
    const __m512i low = choose(low_first_, code, low_second_);
    const __m512i high =
        _mm512_or_si512(choose(high_first_, code, high_second_), _mm512_and_si512(code, sign_));
    return {scaled(choose(low, group_first_, high), exponents[0]),
            scaled(choose(low, group_second_, high), exponents[1])};
  }

 private:
  // Bytes of two tables by index.
  static HWY_INLINE __m512i choose(__m512i first, __m512i index, __m512i second) {
    asm("vpermt2b %[second], %[index], %[first]"
        : [first] "+v"(first)
        : [index] "v"(index), [second] "v"(second));
    return first;
  }

  // Zeros stay what they are.
  HWY_INLINE V32 scaled(__m512i words, std::uint32_t exponent) const {
    const __mmask32 counts = _mm512_test_epi16_mask(words, magnitude_);
    const __m512i added = _mm512_set1_epi32(static_cast<int>(exponent));
    return V32{_mm512_castsi512_ps(_mm512_mask_add_epi16(words, counts, words, added))};
  }

  __m512i low_first_, low_second_, high_first_, high_second_;
  __m512i group_first_, group_second_;
  __m512i sign_, magnitude_;
};

template <int kRows, int kLocality>
HWY_INLINE void lane_units(const LaneStep& step, const LanePair& pair, const WordDecoder& decode,
                           const GroupExponents& exponents, LaneSums& s, LaneSums& t) {
  const std::uint32_t* row = step.row_pairs;
  for (std::int64_t k = 0; k < step.k; k += kUnit) {
    // A column is often a page: hardware prefetchers would start anew with each one.
    __builtin_prefetch(pair.next_codes[0] + k, 0, kLocality);
    __builtin_prefetch(pair.next_codes[1] + k, 0, kLocality);
    const auto a = decode(pair.codes[0] + k, exponents[0] + k / kGroup);
    const auto b = decode(pair.codes[1] + k, exponents[1] + k / kGroup);
    lane_add_all<kRows>(row, a.first, b.first, s, t);
    lane_add_all<kRows>(row + step.block_stride, a.second, b.second, s, t);
    row += 2 * step.block_stride;
  }
}

template <int kRows>
HWY_NOINLINE void lane_pair_kernel(const LaneStep& step) {
  constexpr int kSet = kSetRows * kLaneColumns * kBlock;
  const WordDecoder decode(step.code_bytes);
  const std::int64_t groups = (step.k + kGroup - 1) / kGroup;
  HWY_ALIGN GroupExponents exponents;
  LanePartials* partials = step.partials;
  for (const LanePair& pair : step.pairs) {
    group_exponents(pair.scales[0], groups, exponents[0]);
    group_exponents(pair.scales[1], groups, exponents[1]);
    float* sums = (*partials++)[0][0];
    LaneSums s = no_sums(), t = no_sums();
    if (step.start == Start::from_stored) {
      load_sums(sums, s);
      if constexpr (kRows > kSetRows) load_sums(sums + kSet, t);
    }
    if (step.fetch_into_l1) {
      lane_units<kRows, kIntoL1>(step, pair, decode, exponents, s, t);
    } else {
      lane_units<kRows, kIntoL2>(step, pair, decode, exponents, s, t);
    }
    store_sums(s, sums);
    if constexpr (kRows > kSetRows) store_sums(t, sums + kSet);
  }
}

HWY_INLINE void lane_pairs(const LaneStep& step) {
  switch (step.row_count) {
    case 1:
      return lane_pair_kernel<1>(step);
    case 2:
      return lane_pair_kernel<2>(step);
    case 3:
      return lane_pair_kernel<3>(step);
    case 4:
      return lane_pair_kernel<4>(step);
    case 5:
      return lane_pair_kernel<5>(step);
    case 6:
      return lane_pair_kernel<6>(step);
    case 7:
      return lane_pair_kernel<7>(step);
    case 8:
      return lane_pair_kernel<8>(step);
  }
}

#else

// Never run: multiplies_pairs is false.
HWY_INLINE void lane_pairs(const LaneStep& /*step*/) {}

#endif

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_LANE_PAIRS_INL_H_
