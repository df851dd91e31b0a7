// SPDX-License-Identifier: Apache-2.0
// The register-blocked kernels: six rows, with 32 registers also twelve, times two vectors of
// columns; one fused multiply-add per element and k, k ascending, accumulators kept in registers.

#if defined(TANDEM_GEMM_PANEL_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_GEMM_PANEL_KERNEL_INL_H_
#undef TANDEM_GEMM_PANEL_KERNEL_INL_H_
#else
#define TANDEM_GEMM_PANEL_KERNEL_INL_H_
#endif

#include "gemm/aligned_buffer.h"
#include "gemm/simd/decode_inl.h"
#include "gemm/simd/kernels.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

// Named members: arrays of vectors make GCC spill.
struct PanelSums {
  V32 r0a, r1a, r2a, r3a, r4a, r5a;
  V32 r0b, r1b, r2b, r3b, r4b, r5b;
};

enum class Width { one_vector, two_vectors };

template <Width kWidth>
HWY_INLINE void multiply_add(const float* a, V32 b0, V32 b1, V32& sum0, V32& sum1) {
  const V32 value = hn::Set(F32(), *a);
  sum0 = hn::MulAdd(value, b0, sum0);
  if constexpr (kWidth == Width::two_vectors) sum1 = hn::MulAdd(value, b1, sum1);
}

template <Width kWidth, int kRows>
HWY_INLINE void add_rows(const float* a, V32 b0, V32 b1, PanelSums& s) {
  multiply_add<kWidth>(a + 0 * kBlock, b0, b1, s.r0a, s.r0b);
  if constexpr (kRows > 1) multiply_add<kWidth>(a + 1 * kBlock, b0, b1, s.r1a, s.r1b);
  if constexpr (kRows > 2) multiply_add<kWidth>(a + 2 * kBlock, b0, b1, s.r2a, s.r2b);
  if constexpr (kRows > 3) multiply_add<kWidth>(a + 3 * kBlock, b0, b1, s.r3a, s.r3b);
  if constexpr (kRows > 4) multiply_add<kWidth>(a + 4 * kBlock, b0, b1, s.r4a, s.r4b);
  if constexpr (kRows > 5) multiply_add<kWidth>(a + 5 * kBlock, b0, b1, s.r5a, s.r5b);
}

HWY_INLINE V32 load_columns(const float* b) { return hn::Load(F32(), b); }

// BF16 is the upper half of FP32.
HWY_INLINE V32 load_columns(const std::uint16_t* b) {
  const hn::RebindToUnsigned<F32> d_bits;
  const hn::Rebind<std::uint16_t, F32> d_half;
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(d_bits, hn::Load(d_half, b))));
}

template <Width kWidth, int kRows, typename B>
HWY_INLINE void panel_k(const float* a, const B* b, const B* b_second, PanelSums& s) {
  // Pinning b0 and b1 to registers with an empty asm: no gain with GCC 12 on Zen 4.
  const V32 b0 = load_columns(b);
  const V32 b1 = kWidth == Width::two_vectors ? load_columns(b_second) : b0;
  add_rows<kWidth, kRows>(a, b0, b1, s);
}

template <Width kWidth>
HWY_INLINE void load_sums(const float* sums, V32& sum0, V32& sum1) {
  sum0 = hn::LoadU(F32(), sums);
  if constexpr (kWidth == Width::two_vectors) sum1 = hn::LoadU(F32(), sums + kLanes);
}

template <Width kWidth>
HWY_INLINE void store_sums(V32 sum0, V32 sum1, float* sums) {
  hn::StoreU(sum0, F32(), sums);
  if constexpr (kWidth == Width::two_vectors) hn::StoreU(sum1, F32(), sums + kLanes);
}

// Fetches a step's lines evenly over its k's, four at a time.
class Fetcher {
 public:
  static constexpr std::int64_t kStep = 4;

  explicit Fetcher(const PanelStep& step)
      : first_(step.fetch.first),
        second_(step.fetch.second),
        lines_(step.fetch.lines),
        steps_(step.depth / kStep > 0 ? step.depth / kStep : 1) {}

  HWY_INLINE void operator()() {
    for (due_ += lines_; due_ >= steps_; due_ -= steps_) {
      hwy::Prefetch(first_);
      hwy::Prefetch(second_);
      first_ += kCacheLine;
      second_ += kCacheLine;
    }
  }

 private:
  const std::byte* first_;
  const std::byte* second_;
  std::int64_t lines_;
  std::int64_t steps_;
  std::int64_t due_ = 0;
};

template <Width kWidth, int kRows, typename B>
HWY_NOINLINE void panel_kernel(const PanelStep& step, const B* b, const B* b_second, float* sums) {
  const std::int64_t pitch = step.pitch;
  const V32 zero = hn::Zero(F32());
  PanelSums s = {zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero};
  if (step.start == Start::from_stored) {
    load_sums<kWidth>(sums + 0 * pitch, s.r0a, s.r0b);
    if constexpr (kRows > 1) load_sums<kWidth>(sums + 1 * pitch, s.r1a, s.r1b);
    if constexpr (kRows > 2) load_sums<kWidth>(sums + 2 * pitch, s.r2a, s.r2b);
    if constexpr (kRows > 3) load_sums<kWidth>(sums + 3 * pitch, s.r3a, s.r3b);
    if constexpr (kRows > 4) load_sums<kWidth>(sums + 4 * pitch, s.r4a, s.r4b);
    if constexpr (kRows > 5) load_sums<kWidth>(sums + 5 * pitch, s.r5a, s.r5b);
  }
  const float* a = step.rows;
  std::int64_t depth = step.depth;
  Fetcher fetch(step);
  for (; depth >= kBlock; depth -= kBlock) {
    for (int quad = 0; quad < 4; ++quad) {
      fetch();
      panel_k<kWidth, kRows>(a + 0, b + 0 * kPanelColumns, b_second + 0 * kPanelColumns, s);
      panel_k<kWidth, kRows>(a + 1, b + 1 * kPanelColumns, b_second + 1 * kPanelColumns, s);
      panel_k<kWidth, kRows>(a + 2, b + 2 * kPanelColumns, b_second + 2 * kPanelColumns, s);
      panel_k<kWidth, kRows>(a + 3, b + 3 * kPanelColumns, b_second + 3 * kPanelColumns, s);
      a += 4;
      b += 4 * kPanelColumns;
      b_second += 4 * kPanelColumns;
    }
    a += (kPanelRows - 1) * kBlock;
  }
  for (; depth > 0; --depth) {
    panel_k<kWidth, kRows>(a, b, b_second, s);
    a += 1;
    b += kPanelColumns;
    b_second += kPanelColumns;
  }
  store_sums<kWidth>(s.r0a, s.r0b, sums + 0 * pitch);
  if constexpr (kRows > 1) store_sums<kWidth>(s.r1a, s.r1b, sums + 1 * pitch);
  if constexpr (kRows > 2) store_sums<kWidth>(s.r2a, s.r2b, sums + 2 * pitch);
  if constexpr (kRows > 3) store_sums<kWidth>(s.r3a, s.r3b, sums + 3 * pitch);
  if constexpr (kRows > 4) store_sums<kWidth>(s.r4a, s.r4b, sums + 4 * pitch);
  if constexpr (kRows > 5) store_sums<kWidth>(s.r5a, s.r5b, sums + 5 * pitch);
}

// Two panels of rows at once, where there are registers for their 24 sums: B is read half as often.
template <typename B>
HWY_INLINE void tall_k(const float* a, const float* a_second, const B* b, const B* b_second,
                       PanelSums& s, PanelSums& t) {
  const V32 b0 = load_columns(b);
  const V32 b1 = load_columns(b_second);
  add_rows<Width::two_vectors, kPanelRows>(a, b0, b1, s);
  add_rows<Width::two_vectors, kPanelRows>(a_second, b0, b1, t);
}

HWY_INLINE void load_panel(const float* sums, std::int64_t pitch, PanelSums& s) {
  load_sums<Width::two_vectors>(sums + 0 * pitch, s.r0a, s.r0b);
  load_sums<Width::two_vectors>(sums + 1 * pitch, s.r1a, s.r1b);
  load_sums<Width::two_vectors>(sums + 2 * pitch, s.r2a, s.r2b);
  load_sums<Width::two_vectors>(sums + 3 * pitch, s.r3a, s.r3b);
  load_sums<Width::two_vectors>(sums + 4 * pitch, s.r4a, s.r4b);
  load_sums<Width::two_vectors>(sums + 5 * pitch, s.r5a, s.r5b);
}

HWY_INLINE void store_panel(const PanelSums& s, float* sums, std::int64_t pitch) {
  store_sums<Width::two_vectors>(s.r0a, s.r0b, sums + 0 * pitch);
  store_sums<Width::two_vectors>(s.r1a, s.r1b, sums + 1 * pitch);
  store_sums<Width::two_vectors>(s.r2a, s.r2b, sums + 2 * pitch);
  store_sums<Width::two_vectors>(s.r3a, s.r3b, sums + 3 * pitch);
  store_sums<Width::two_vectors>(s.r4a, s.r4b, sums + 4 * pitch);
  store_sums<Width::two_vectors>(s.r5a, s.r5b, sums + 5 * pitch);
}

template <typename B>
HWY_NOINLINE void tall_kernel(const PanelStep& step, const B* b) {
  const V32 zero = hn::Zero(F32());
  PanelSums s = {zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero};
  PanelSums t = s;
  float* second_sums = step.sums + kPanelRows * step.pitch;
  if (step.start == Start::from_stored) {
    load_panel(step.sums, step.pitch, s);
    load_panel(second_sums, step.pitch, t);
  }
  const float* a = step.rows;
  const float* a_second = a + step.row_stride;
  const B* b_second = b + step.panel_stride;
  std::int64_t depth = step.depth;
  Fetcher fetch(step);
  for (; depth >= kBlock; depth -= kBlock) {
    for (int pair = 0; pair < kBlock / 2; ++pair) {
      if (pair % 2 == 0) fetch();
      tall_k(a, a_second, b, b_second, s, t);
      tall_k(a + 1, a_second + 1, b + kPanelColumns, b_second + kPanelColumns, s, t);
      a += 2;
      a_second += 2;
      b += 2 * kPanelColumns;
      b_second += 2 * kPanelColumns;
    }
    a += (kPanelRows - 1) * kBlock;
    a_second += (kPanelRows - 1) * kBlock;
  }
  for (; depth > 0; --depth) {
    tall_k(a++, a_second++, b, b_second, s, t);
    b += kPanelColumns;
    b_second += kPanelColumns;
  }
  store_panel(s, step.sums, step.pitch);
  store_panel(t, second_sums, step.pitch);
}

// Panels of B that one step takes: two where a vector covers a panel.
inline constexpr int kPanelsMax = kLanes == kPanelColumns ? 2 : 1;

// The last rows of a tile cost no more than they are.
template <Width kWidth, typename B>
HWY_INLINE void panel_rows(const PanelStep& step, const B* b, const B* b_second, float* sums) {
  switch (step.row_count) {
    case 1:
      return panel_kernel<kWidth, 1>(step, b, b_second, sums);
    case 2:
      return panel_kernel<kWidth, 2>(step, b, b_second, sums);
    case 3:
      return panel_kernel<kWidth, 3>(step, b, b_second, sums);
    case 4:
      return panel_kernel<kWidth, 4>(step, b, b_second, sums);
    case 5:
      return panel_kernel<kWidth, 5>(step, b, b_second, sums);
    case 6:
      return panel_kernel<kWidth, 6>(step, b, b_second, sums);
  }
}

template <typename B>
HWY_INLINE void panel_step_on(const PanelStep& step, const B* columns) {
  if constexpr (kPanelsMax == 2) {
    if (step.row_count == 2 * kPanelRows) return tall_kernel(step, columns);
    if (step.panels == 2) {
      panel_rows<Width::two_vectors>(step, columns, columns + step.panel_stride, step.sums);
    } else {
      panel_rows<Width::one_vector>(step, columns, columns, step.sums);
    }
  } else {
    for (std::int64_t column = 0; column < kPanelColumns; column += 2 * kLanes) {
      const B* b = columns + column;
      panel_rows<Width::two_vectors>(step, b, b + kLanes, step.sums + column);
    }
  }
}

HWY_NOINLINE void panel_step(const PanelStep& step) {
  if (step.bf16_columns != nullptr) {
    panel_step_on(step, step.bf16_columns);
  } else {
    panel_step_on(step, step.columns);
  }
}

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_PANEL_KERNEL_INL_H_
