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
#include "gemm/simd/pair_products_inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

struct Chains {
  V32 a, b, c, d, e, f;
};

// Chains that began alike would be one chain to the compiler.
HWY_INLINE Chains start_chains(int first) {
  const F32 d;
  return {hn::Iota(d, static_cast<float>(first)),     hn::Iota(d, static_cast<float>(first + 1)),
          hn::Iota(d, static_cast<float>(first + 2)), hn::Iota(d, static_cast<float>(first + 3)),
          hn::Iota(d, static_cast<float>(first + 4)), hn::Iota(d, static_cast<float>(first + 5))};
}

template <typename Add>
HWY_INLINE void advance(Chains& s, V32 factor, V32 addend, Add add) {
  s.a = add(factor, addend, s.a);
  s.b = add(factor, addend, s.b);
  s.c = add(factor, addend, s.c);
  s.d = add(factor, addend, s.d);
  s.e = add(factor, addend, s.e);
  s.f = add(factor, addend, s.f);
}

HWY_INLINE V32 sum_of(const Chains& s) {
  return hn::Add(hn::Add(hn::Add(s.a, s.b), hn::Add(s.c, s.d)), hn::Add(s.e, s.f));
}

// `add`: (factor, addend, chain) to the chain's next value. 12 chains hide a latency of four to six
// cycles; 24, where there are registers for them, a longer one.
template <typename Add>
HWY_INLINE std::int64_t run_chains(std::int64_t steps, std::int64_t flops_per_lane, Add add) {
  constexpr bool kMany = kLanes == 16;
  const F32 d;
  const V32 factor = hn::Set(d, 0.5f);
  const V32 addend = hn::Set(d, 1.0f);
  Chains s = start_chains(1), t = start_chains(7), u = start_chains(13), v = start_chains(19);
  for (std::int64_t step = 0; step < steps; ++step) {
    advance(s, factor, addend, add);
    advance(t, factor, addend, add);
    if constexpr (kMany) advance(u, factor, addend, add);
    if constexpr (kMany) advance(v, factor, addend, add);
  }
  const V32 sum = hn::Add(hn::Add(sum_of(s), sum_of(t)), hn::Add(sum_of(u), sum_of(v)));
  // A sum of 0 cannot be, but the compiler has to compute it.
  const std::int64_t flops = steps * (kMany ? 24 : 12) * flops_per_lane * kLanes;
  return hn::GetLane(sum) == 0.0f ? 0 : flops;
}

HWY_NOINLINE std::int64_t multiply_add_chains(std::int64_t steps) {
  return run_chains(steps, 2, [](V32 factor, V32 addend, V32 chain) HWY_ATTR {
    return hn::MulAdd(chain, factor, addend);
  });
}

HWY_NOINLINE std::int64_t pair_chains(std::int64_t steps) {
  return run_chains(steps, 4, [](V32 factor, V32 addend, V32 chain) HWY_ATTR {
    return add_pair_products(factor, addend, chain);
  });
}

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_PEAK_INL_H_
