// SPDX-License-Identifier: Apache-2.0
// Rows of bf16, FP16 and FP32, per instruction set. Integer arithmetic on the bit patterns rather
// than conversion instructions: the same on every target, indifferent to flush-to-zero modes.

#if defined(TANDEM_GEMM_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_GEMM_CONVERT_INL_H_
#undef TANDEM_GEMM_CONVERT_INL_H_
#else
#define TANDEM_GEMM_CONVERT_INL_H_
#endif

#include <cstring>

#include "gemm/simd/decode_inl.h"
#include "gemm/simd/kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

using U32 = hn::RebindToUnsigned<F32>;
using I32 = hn::RebindToSigned<F32>;
using U16 = hn::Rebind<std::uint16_t, F32>;

HWY_INLINE hn::Vec<U32> bits_of(V32 v) { return hn::BitCast(U32(), v); }
HWY_INLINE V32 float_of(hn::Vec<U32> v) { return hn::BitCast(F32(), v); }
HWY_INLINE hn::Vec<U32> word(std::uint32_t bits) { return hn::Set(U32(), bits); }

// a > b, both below 2^31.
HWY_INLINE hn::Mask<U32> above(hn::Vec<U32> a, hn::Vec<U32> b) {
  return hn::RebindMask(U32(), hn::Gt(hn::BitCast(I32(), a), hn::BitCast(I32(), b)));
}

HWY_INLINE hn::Vec<U32> to_bf16(V32 v) {
  const auto u = bits_of(v);
  const auto upper = hn::ShiftRight<16>(u);
  const auto odd = hn::And(upper, word(1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(u, hn::Add(odd, word(0x7FFF))));
  const auto nan = above(hn::And(u, word(0x7FFFFFFF)), word(0x7F800000));
  return hn::IfThenElse(nan, hn::Or(upper, word(0x40)), rounded);
}

HWY_INLINE hn::Vec<U32> to_fp16(V32 v) {
  const auto u = bits_of(v);
  const auto sign = hn::And(hn::ShiftRight<16>(u), word(0x8000));
  const auto magnitude = hn::And(u, word(0x7FFFFFFF));
  // Normal: re-bias the exponent by 127 − 15 and round at bit 13. The carry may reach infinity.
  const auto odd = hn::And(hn::ShiftRight<13>(u), word(1));
  const auto biased = hn::Sub(hn::Add(magnitude, hn::Add(odd, word(0xFFF))), word(112u << 23));
  const auto normal = hn::ShiftRight<13>(biased);
  // Below 2^-14: adding 0.5, whose last bit weighs 2^-24, rounds to FP16's subnormal grid.
  const auto half = hn::Set(F32(), 0.5f);
  const auto tiny = hn::Sub(bits_of(hn::Add(float_of(magnitude), half)), bits_of(half));
  // 65520 and above, infinity included, round to infinity; NaN becomes the quiet one.
  auto result = hn::IfThenElse(above(word(0x38800000), magnitude), tiny, normal);
  result = hn::IfThenElse(above(magnitude, word(0x477FEFFF)), word(0x7C00), result);
  result = hn::IfThenElse(above(magnitude, word(0x7F800000)), word(0x7E00), result);
  return hn::Or(result, sign);
}

HWY_INLINE V32 from_fp16(hn::Vec<U32> h) {
  const auto sign = hn::ShiftLeft<16>(hn::And(h, word(0x8000)));
  const auto magnitude = hn::And(h, word(0x7FFF));
  const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), word(112u << 23));
  const auto special = hn::Add(normal, word(112u << 23));
  const V32 tiny =
      hn::Mul(hn::ConvertTo(F32(), hn::BitCast(I32(), magnitude)), hn::Set(F32(), 0x1p-24f));
  auto result = hn::IfThenElse(above(word(0x400), magnitude), bits_of(tiny), normal);
  result = hn::IfThenElse(above(magnitude, word(0x7BFF)), special, result);
  result = hn::IfThenElse(above(magnitude, word(0x7C00)), word(0x7FC00000), result);
  return float_of(hn::Or(result, sign));
}

template <OutputType kType>
struct Element {
  using Type = std::uint16_t;
};
template <>
struct Element<OutputType::fp32> {
  using Type = float;
};

template <OutputType kType>
HWY_INLINE V32 load_element(const typename Element<kType>::Type* source) {
  if constexpr (kType == OutputType::fp32) {
    return hn::LoadU(F32(), source);
  } else {
    const auto wide = hn::PromoteTo(U32(), hn::LoadU(U16(), source));
    if constexpr (kType == OutputType::fp16) return from_fp16(wide);
    return float_of(hn::ShiftLeft<16>(wide));
  }
}

template <OutputType kType>
HWY_INLINE void store_element(V32 v, typename Element<kType>::Type* destination) {
  if constexpr (kType == OutputType::fp32) {
    hn::StoreU(v, F32(), destination);
  } else {
    const auto bits = kType == OutputType::fp16 ? to_fp16(v) : to_bf16(v);
    hn::StoreU(hn::DemoteTo(U16(), hn::BitCast(I32(), bits)), U16(), destination);
  }
}

// The value of `v` after rounding to the type.
template <OutputType kType>
HWY_INLINE V32 round_to(V32 v) {
  if constexpr (kType == OutputType::fp32) return v;
  if constexpr (kType == OutputType::fp16) return from_fp16(to_fp16(v));
  return float_of(hn::ShiftLeft<16>(to_bf16(v)));
}

// Whole vectors are converted in place; what is left of a row goes through copies.
template <typename T>
HWY_INLINE void copy_elements(const T* from, std::int64_t count, T* to) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

template <OutputType kType>
void store_elements(const float* sums, const float* bias, std::int64_t count,
                    typename Element<kType>::Type* out) {
  const F32 d;
  std::int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    V32 v = hn::LoadU(d, sums + j);
    if (bias != nullptr) v = hn::Add(v, hn::LoadU(d, bias + j));
    store_element<kType>(v, out + j);
  }
  if (j == count) return;
  float rest[kLanes] = {};
  float rest_bias[kLanes] = {};
  typename Element<kType>::Type rest_out[kLanes];
  copy_elements(sums + j, count - j, rest);
  V32 v = hn::LoadU(d, rest);
  if (bias != nullptr) {
    copy_elements(bias + j, count - j, rest_bias);
    v = hn::Add(v, hn::LoadU(d, rest_bias));
  }
  store_element<kType>(v, rest_out);
  copy_elements(rest_out, count - j, out + j);
}

template <OutputType kType>
void add_elements(const float* sums, std::int64_t count, typename Element<kType>::Type* out) {
  const F32 d;
  std::int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    const V32 rounded = round_to<kType>(hn::LoadU(d, sums + j));
    store_element<kType>(hn::Add(load_element<kType>(out + j), rounded), out + j);
  }
  if (j == count) return;
  float rest[kLanes] = {};
  typename Element<kType>::Type rest_out[kLanes] = {};
  copy_elements(sums + j, count - j, rest);
  copy_elements(out + j, count - j, rest_out);
  const V32 rounded = round_to<kType>(hn::LoadU(d, rest));
  store_element<kType>(hn::Add(load_element<kType>(rest_out), rounded), rest_out);
  copy_elements(rest_out, count - j, out + j);
}

template <OutputType kType, Start kStart>
void widen_elements(const typename Element<kType>::Type* source, std::int64_t count, float* sums) {
  const F32 d;
  std::int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    V32 v = load_element<kType>(source + j);
    if constexpr (kStart == Start::from_stored) v = hn::Add(hn::LoadU(d, sums + j), v);
    hn::StoreU(v, d, sums + j);
  }
  if (j == count) return;
  typename Element<kType>::Type rest[kLanes] = {};
  float rest_sums[kLanes] = {};
  copy_elements(source + j, count - j, rest);
  copy_elements(sums + j, count - j, rest_sums);
  V32 v = load_element<kType>(rest);
  if constexpr (kStart == Start::from_stored) v = hn::Add(hn::LoadU(d, rest_sums), v);
  hn::StoreU(v, d, rest_sums);
  copy_elements(rest_sums, count - j, sums + j);
}

// A pair of vectors at a time; what is left of the rows goes through a sum in memory.
template <OutputType kFrom, OutputType kTo>
void sum_elements(const RowsToSum& step) {
  using From = typename Element<kFrom>::Type;
  auto* out = static_cast<typename Element<kTo>::Type*>(step.destination);
  std::int64_t j = 0;
  for (; j + 2 * kLanes <= step.count; j += 2 * kLanes) {
    const auto* first = static_cast<const From*>(step.rows[0]) + j;
    V32 sum0 = load_element<kFrom>(first);
    V32 sum1 = load_element<kFrom>(first + kLanes);
    for (std::size_t row = 1; row < step.rows.size(); ++row) {
      const auto* next = static_cast<const From*>(step.rows[row]) + j;
      sum0 = hn::Add(sum0, load_element<kFrom>(next));
      sum1 = hn::Add(sum1, load_element<kFrom>(next + kLanes));
    }
    store_element<kTo>(sum0, out + j);
    store_element<kTo>(sum1, out + j + kLanes);
  }
  if (j == step.count) return;
  float sums[2 * kLanes] = {};
  widen_elements<kFrom, Start::from_zero>(static_cast<const From*>(step.rows[0]) + j,
                                          step.count - j, sums);
  for (std::size_t row = 1; row < step.rows.size(); ++row) {
    widen_elements<kFrom, Start::from_stored>(static_cast<const From*>(step.rows[row]) + j,
                                              step.count - j, sums);
  }
  store_elements<kTo>(sums, nullptr, step.count - j, out + j);
}

template <OutputType kFrom>
void sum_rows_from(const RowsToSum& step) {
  using enum OutputType;
  switch (step.to) {
    case bf16:
      return sum_elements<kFrom, bf16>(step);
    case fp16:
      return sum_elements<kFrom, fp16>(step);
    case fp32:
      return sum_elements<kFrom, fp32>(step);
  }
}

HWY_NOINLINE void sum_rows(const RowsToSum& step) {
  using enum OutputType;
  switch (step.from) {
    case bf16:
      return sum_rows_from<bf16>(step);
    case fp16:
      return sum_rows_from<fp16>(step);
    case fp32:
      return sum_rows_from<fp32>(step);
  }
}

HWY_NOINLINE void store_row(const float* sums, const float* bias, std::int64_t count,
                            OutputType type, void* destination) {
  using enum OutputType;
  switch (type) {
    case bf16:
      return store_elements<bf16>(sums, bias, count, static_cast<std::uint16_t*>(destination));
    case fp16:
      return store_elements<fp16>(sums, bias, count, static_cast<std::uint16_t*>(destination));
    case fp32:
      return store_elements<fp32>(sums, bias, count, static_cast<float*>(destination));
  }
}

HWY_NOINLINE void add_row(const float* sums, std::int64_t count, OutputType type,
                          void* destination) {
  using enum OutputType;
  switch (type) {
    case bf16:
      return add_elements<bf16>(sums, count, static_cast<std::uint16_t*>(destination));
    case fp16:
      return add_elements<fp16>(sums, count, static_cast<std::uint16_t*>(destination));
    case fp32:
      return add_elements<fp32>(sums, count, static_cast<float*>(destination));
  }
}

template <Start kStart>
void widen(const void* source, OutputType type, std::int64_t count, float* sums) {
  using enum OutputType;
  switch (type) {
    case bf16:
      return widen_elements<bf16, kStart>(static_cast<const std::uint16_t*>(source), count, sums);
    case fp16:
      return widen_elements<fp16, kStart>(static_cast<const std::uint16_t*>(source), count, sums);
    case fp32:
      return widen_elements<fp32, kStart>(static_cast<const float*>(source), count, sums);
  }
}

HWY_NOINLINE void widen_row(const void* source, OutputType type, std::int64_t count, Start start,
                            float* sums) {
  if (start == Start::from_zero) {
    widen<Start::from_zero>(source, type, count, sums);
  } else {
    widen<Start::from_stored>(source, type, count, sums);
  }
}

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_CONVERT_INL_H_
