// SPDX-License-Identifier: Apache-2.0
// What a panel step loads of B: one or two vectors of columns at one k, or of pairs.

#if defined(TANDEM_GEMM_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_GEMM_COLUMNS_INL_H_
#undef TANDEM_GEMM_COLUMNS_INL_H_
#else
#define TANDEM_GEMM_COLUMNS_INL_H_
#endif

#include "gemm/simd/decode_inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

enum class Width { one_vector, two_vectors };

struct Columns {
  V32 first, second;
};

template <Width kWidth>
HWY_INLINE Columns load_columns(const float* b, const float* b_second) {
  // Pinning both to registers with an empty asm: no gain with GCC 12 on Zen 4.
  const V32 first = hn::Load(F32(), b);
  return {first, kWidth == Width::two_vectors ? hn::Load(F32(), b_second) : first};
}

template <Width kWidth>
HWY_INLINE Columns load_columns(const std::uint32_t* b, const std::uint32_t* b_second) {
  const hn::RebindToUnsigned<F32> d;
  const V32 first = hn::BitCast(F32(), hn::Load(d, b));
  return {first, kWidth == Width::two_vectors ? hn::BitCast(F32(), hn::Load(d, b_second)) : first};
}

// BF16 is the upper half of FP32.
HWY_INLINE V32 first_of_pairs(V32 pairs) {
  const hn::RebindToUnsigned<F32> d;
  return hn::BitCast(F32(), hn::And(hn::BitCast(d, pairs), hn::Set(d, 0xFFFF0000u)));
}
HWY_INLINE V32 second_of_pairs(V32 pairs) {
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::BitCast(hn::RebindToUnsigned<F32>(), pairs)));
}

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_COLUMNS_INL_H_
