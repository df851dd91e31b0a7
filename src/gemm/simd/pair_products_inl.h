// SPDX-License-Identifier: Apache-2.0
// Products of pairs: x86's VDPBF16PS. Per lane it adds the product of the upper halves to the sum,
// rounded to nearest even, then that of the lower halves: two fused multiply-adds, except that it
// takes subnormals for zeros. No tag of this Highway names the extension, so it is spelled in
// assembly, and Kernels::multiplies_pairs says whether the machine has it.

#if defined(TANDEM_GEMM_PAIR_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_GEMM_PAIR_PRODUCTS_INL_H_
#undef TANDEM_GEMM_PAIR_PRODUCTS_INL_H_
#else
#define TANDEM_GEMM_PAIR_PRODUCTS_INL_H_
#endif

#include "gemm/simd/decode_inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

#if HWY_ARCH_X86_64 && (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL)

inline constexpr bool kHasPairProducts = true;

HWY_INLINE V32 add_pair_products(V32 a, V32 b, V32 sum) {
  asm("vdpbf16ps %[b], %[a], %[sum]" : [sum] "+v"(sum.raw) : [a] "v"(a.raw), [b] "v"(b.raw));
  return sum;
}

#else

inline constexpr bool kHasPairProducts = false;

// Never run: multiplies_pairs is false.
HWY_INLINE V32 add_pair_products(V32 /*a*/, V32 /*b*/, V32 sum) { return sum; }

#endif

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_PAIR_PRODUCTS_INL_H_
