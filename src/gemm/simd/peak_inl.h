// SPDX-License-Identifier: Apache-2.0
// The most that fused multiply-adds can do here: as many independent chains as hide their latency,
// nothing but registers.

#if defined(TANDEM_GEMM_PEAK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_GEMM_PEAK_INL_H_
#undef TANDEM_GEMM_PEAK_INL_H_
#else
#define TANDEM_GEMM_PEAK_INL_H_
#endif

#include "gemm/simd/decode_inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

HWY_NOINLINE std::int64_t multiply_add_chains(std::int64_t steps) {
  const F32 d;
  const V32 factor = hn::Set(d, 0.5f);
  const V32 addend = hn::Set(d, 1.0f);
  // Chains that began alike would be one chain to the compiler.
  V32 a = addend, b = hn::Iota(d, 1), c = hn::Iota(d, 2), e = hn::Iota(d, 3), f = hn::Iota(d, 4);
  V32 g = hn::Iota(d, 5), h = hn::Iota(d, 6), i = hn::Iota(d, 7), j = hn::Iota(d, 8);
  V32 k = hn::Iota(d, 9), l = hn::Iota(d, 10), m = hn::Iota(d, 11);
  for (std::int64_t step = 0; step < steps; ++step) {
    a = hn::MulAdd(a, factor, addend);
    b = hn::MulAdd(b, factor, addend);
    c = hn::MulAdd(c, factor, addend);
    e = hn::MulAdd(e, factor, addend);
    f = hn::MulAdd(f, factor, addend);
    g = hn::MulAdd(g, factor, addend);
    h = hn::MulAdd(h, factor, addend);
    i = hn::MulAdd(i, factor, addend);
    j = hn::MulAdd(j, factor, addend);
    k = hn::MulAdd(k, factor, addend);
    l = hn::MulAdd(l, factor, addend);
    m = hn::MulAdd(m, factor, addend);
  }
  const V32 sum =
      hn::Add(hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i))),
              hn::Add(hn::Add(j, k), hn::Add(l, m)));
  // All chains tend to 2; a sum of 0 cannot be, but the compiler has to compute it.
  const std::int64_t flops = steps * 12 * 2 * kLanes;
  return hn::GetLane(sum) == 0.0f ? 0 : flops;
}

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_PEAK_INL_H_
