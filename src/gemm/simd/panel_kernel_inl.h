// SPDX-License-Identifier: Apache-2.0
// The register-blocked kernels: six rows, with 32 registers also twelve, times two vectors of
// columns; one fused multiply-add per element and k, k ascending, accumulators kept in registers.
// Where the machine has one instruction for the two of a pair, it does the same.

#if defined(TANDEM_GEMM_PANEL_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_GEMM_PANEL_KERNEL_INL_H_
#undef TANDEM_GEMM_PANEL_KERNEL_INL_H_
#else
#define TANDEM_GEMM_PANEL_KERNEL_INL_H_
#endif

#include <type_traits>

#include "gemm/aligned_buffer.h"
#include "gemm/simd/columns_inl.h"
#include "gemm/simd/decode_inl.h"
#include "gemm/simd/kernels.h"
#include "gemm/simd/pair_products_inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

// Named members: arrays of vectors make GCC spill.
struct PanelSums {
  V32 r0a, r1a, r2a, r3a, r4a, r5a;
  V32 r0b, r1b, r2b, r3b, r4b, r5b;
};

template <Width kWidth>
HWY_INLINE void multiply_add(const float* a, V32 b0, V32 b1, V32& sum0, V32& sum1) {
  const V32 value = hn::Set(F32(), *a);
  sum0 = hn::MulAdd(value, b0, sum0);
  if constexpr (kWidth == Width::two_vectors) sum1 = hn::MulAdd(value, b1, sum1);
}

// A pair of A times pairs of columns.
template <Width kWidth>
HWY_INLINE void multiply_add(const std::uint32_t* a, V32 b0, V32 b1, V32& sum0, V32& sum1) {
  const V32 value = hn::BitCast(F32(), hn::Set(hn::RebindToUnsigned<F32>(), *a));
  sum0 = add_pair_products(value, b0, sum0);
  if constexpr (kWidth == Width::two_vectors) sum1 = add_pair_products(value, b1, sum1);
}

// From a row of a block to the next, and from two k's of a row to the next two.
template <typename A>
inline constexpr std::int64_t kRowStride = std::is_same_v<A, float> ? kBlock : kBlockPairs;
template <typename T>
inline constexpr std::int64_t kTwoValues = std::is_same_v<T, float> ? 2 : 1;

template <Width kWidth, int kRows, typename A>
HWY_INLINE void add_rows(const A* a, V32 b0, V32 b1, PanelSums& s) {
  constexpr std::int64_t kStride = kRowStride<A>;
  multiply_add<kWidth>(a + 0 * kStride, b0, b1, s.r0a, s.r0b);
  if constexpr (kRows > 1) multiply_add<kWidth>(a + 1 * kStride, b0, b1, s.r1a, s.r1b);
  if constexpr (kRows > 2) multiply_add<kWidth>(a + 2 * kStride, b0, b1, s.r2a, s.r2b);
  if constexpr (kRows > 3) multiply_add<kWidth>(a + 3 * kStride, b0, b1, s.r3a, s.r3b);
  if constexpr (kRows > 4) multiply_add<kWidth>(a + 4 * kStride, b0, b1, s.r4a, s.r4b);
  if constexpr (kRows > 5) multiply_add<kWidth>(a + 5 * kStride, b0, b1, s.r5a, s.r5b);
}

// Two k's of a panel of A and one or two of B.
template <Width kWidth, int kRows>
HWY_INLINE void two_k(const float* a, const float* b, const float* b_second, PanelSums& s) {
  const Columns first = load_columns<kWidth>(b, b_second);
  add_rows<kWidth, kRows>(a, first.first, first.second, s);
  const Columns second = load_columns<kWidth>(b + kPanelColumns, b_second + kPanelColumns);
  add_rows<kWidth, kRows>(a + 1, second.first, second.second, s);
}
template <Width kWidth, int kRows>
HWY_INLINE void two_k(const float* a, const std::uint32_t* b, const std::uint32_t* b_second,
                      PanelSums& s) {
  const Columns pairs = load_columns<kWidth>(b, b_second);
  add_rows<kWidth, kRows>(a, first_of_pairs(pairs.first), first_of_pairs(pairs.second), s);
  add_rows<kWidth, kRows>(a + 1, second_of_pairs(pairs.first), second_of_pairs(pairs.second), s);
}
template <Width kWidth, int kRows>
HWY_INLINE void two_k(const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* b_second,
                      PanelSums& s) {
  const Columns pairs = load_columns<kWidth>(b, b_second);
  add_rows<kWidth, kRows>(a, pairs.first, pairs.second, s);
}

// The last k of an odd depth; the other half of a pair is zero.
template <Width kWidth, int kRows, typename A>
HWY_INLINE void last_k(const A* a, const float* b, const float* b_second, PanelSums& s) {
  const Columns columns = load_columns<kWidth>(b, b_second);
  add_rows<kWidth, kRows>(a, columns.first, columns.second, s);
}
template <Width kWidth, int kRows, typename A>
HWY_INLINE void last_k(const A* a, const std::uint32_t* b, const std::uint32_t* b_second,
                       PanelSums& s) {
  const Columns pairs = load_columns<kWidth>(b, b_second);
  if constexpr (std::is_same_v<A, float>) {
    add_rows<kWidth, kRows>(a, first_of_pairs(pairs.first), first_of_pairs(pairs.second), s);
  } else {
    add_rows<kWidth, kRows>(a, pairs.first, pairs.second, s);
  }
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

template <Width kWidth, int kRows, typename A, typename B>
HWY_NOINLINE void panel_kernel(const PanelStep& step, const A* a, const B* b, const B* b_second,
                               float* sums) {
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
  constexpr std::int64_t kTwoColumns = kTwoValues<B> * kPanelColumns;
  std::int64_t depth = step.depth;
  Fetcher fetch(step);
  for (; depth >= kBlock; depth -= kBlock) {
    for (int quad = 0; quad < 4; ++quad) {
      fetch();
      two_k<kWidth, kRows>(a, b, b_second, s);
      two_k<kWidth, kRows>(a + kTwoValues<A>, b + kTwoColumns, b_second + kTwoColumns, s);
      a += 2 * kTwoValues<A>;
      b += 2 * kTwoColumns;
      b_second += 2 * kTwoColumns;
    }
    a += (kPanelRows - 1) * kRowStride<A>;
  }
  for (; depth > 1; depth -= 2) {
    two_k<kWidth, kRows>(a, b, b_second, s);
    a += kTwoValues<A>;
    b += kTwoColumns;
    b_second += kTwoColumns;
  }
  if (depth == 1) last_k<kWidth, kRows>(a, b, b_second, s);
  store_sums<kWidth>(s.r0a, s.r0b, sums + 0 * pitch);
  if constexpr (kRows > 1) store_sums<kWidth>(s.r1a, s.r1b, sums + 1 * pitch);
  if constexpr (kRows > 2) store_sums<kWidth>(s.r2a, s.r2b, sums + 2 * pitch);
  if constexpr (kRows > 3) store_sums<kWidth>(s.r3a, s.r3b, sums + 3 * pitch);
  if constexpr (kRows > 4) store_sums<kWidth>(s.r4a, s.r4b, sums + 4 * pitch);
  if constexpr (kRows > 5) store_sums<kWidth>(s.r5a, s.r5b, sums + 5 * pitch);
}

// Two panels of rows at once, where there are registers for their 24 sums: B is read half as often.
template <typename A>
HWY_INLINE void tall_rows(const A* a, const A* a_second, V32 b0, V32 b1, PanelSums& s,
                          PanelSums& t) {
  add_rows<Width::two_vectors, kPanelRows>(a, b0, b1, s);
  add_rows<Width::two_vectors, kPanelRows>(a_second, b0, b1, t);
}
HWY_INLINE void tall_k(const float* a, const float* a_second, const float* b, const float* b_second,
                       PanelSums& s, PanelSums& t) {
  const Columns columns = load_columns<Width::two_vectors>(b, b_second);
  tall_rows(a, a_second, columns.first, columns.second, s, t);
}

// Two k's.
HWY_INLINE void tall_two_k(const float* a, const float* a_second, const float* b,
                           const float* b_second, PanelSums& s, PanelSums& t) {
  tall_k(a, a_second, b, b_second, s, t);
  tall_k(a + 1, a_second + 1, b + kPanelColumns, b_second + kPanelColumns, s, t);
}
HWY_INLINE void tall_two_k(const float* a, const float* a_second, const std::uint32_t* b,
                           const std::uint32_t* b_second, PanelSums& s, PanelSums& t) {
  const Columns pairs = load_columns<Width::two_vectors>(b, b_second);
  tall_rows(a, a_second, first_of_pairs(pairs.first), first_of_pairs(pairs.second), s, t);
  tall_rows(a + 1, a_second + 1, second_of_pairs(pairs.first), second_of_pairs(pairs.second), s, t);
}
HWY_INLINE void tall_two_k(const std::uint32_t* a, const std::uint32_t* a_second,
                           const std::uint32_t* b, const std::uint32_t* b_second, PanelSums& s,
                           PanelSums& t) {
  const Columns pairs = load_columns<Width::two_vectors>(b, b_second);
  tall_rows(a, a_second, pairs.first, pairs.second, s, t);
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

template <typename A, typename B>
HWY_NOINLINE void tall_kernel(const PanelStep& step, const A* a, const B* b) {
  const V32 zero = hn::Zero(F32());
  PanelSums s = {zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero};
  PanelSums t = s;
  float* second_sums = step.sums + kPanelRows * step.pitch;
  if (step.start == Start::from_stored) {
    load_panel(step.sums, step.pitch, s);
    load_panel(second_sums, step.pitch, t);
  }
  const A* a_second = a + step.row_stride;
  const B* b_second = b + step.panel_stride;
  constexpr std::int64_t kTwoColumns = kTwoValues<B> * kPanelColumns;
  std::int64_t depth = step.depth;
  Fetcher fetch(step);
  for (; depth >= kBlock; depth -= kBlock) {
    for (int pair = 0; pair < kBlock / 2; ++pair) {
      if (pair % 2 == 0) fetch();
      tall_two_k(a, a_second, b, b_second, s, t);
      a += kTwoValues<A>;
      a_second += kTwoValues<A>;
      b += kTwoColumns;
      b_second += kTwoColumns;
    }
    a += (kPanelRows - 1) * kRowStride<A>;
    a_second += (kPanelRows - 1) * kRowStride<A>;
  }
  for (; depth > 1; depth -= 2) {
    tall_two_k(a, a_second, b, b_second, s, t);
    a += kTwoValues<A>;
    a_second += kTwoValues<A>;
    b += kTwoColumns;
    b_second += kTwoColumns;
  }
  if (depth == 1) {
    last_k<Width::two_vectors, kPanelRows>(a, b, b_second, s);
    last_k<Width::two_vectors, kPanelRows>(a_second, b, b_second, t);
  }
  store_panel(s, step.sums, step.pitch);
  store_panel(t, second_sums, step.pitch);
}

// Panels of B that one step takes: two where a vector covers a panel.
inline constexpr int kPanelsMax = kLanes == kPanelColumns ? 2 : 1;

// The last rows of a tile cost no more than they are.
template <Width kWidth, typename A, typename B>
HWY_INLINE void panel_rows(const PanelStep& step, const A* a, const B* b, const B* b_second,
                           float* sums) {
  switch (step.row_count) {
    case 1:
      return panel_kernel<kWidth, 1>(step, a, b, b_second, sums);
    case 2:
      return panel_kernel<kWidth, 2>(step, a, b, b_second, sums);
    case 3:
      return panel_kernel<kWidth, 3>(step, a, b, b_second, sums);
    case 4:
      return panel_kernel<kWidth, 4>(step, a, b, b_second, sums);
    case 5:
      return panel_kernel<kWidth, 5>(step, a, b, b_second, sums);
    case 6:
      return panel_kernel<kWidth, 6>(step, a, b, b_second, sums);
  }
}

template <typename A, typename B>
HWY_INLINE void panel_step_on(const PanelStep& step, const A* rows, const B* columns) {
  if constexpr (kPanelsMax == 2) {
    if (step.row_count == 2 * kPanelRows) return tall_kernel(step, rows, columns);
    if (step.panels == 2) {
      panel_rows<Width::two_vectors>(step, rows, columns, columns + step.panel_stride, step.sums);
    } else {
      panel_rows<Width::one_vector>(step, rows, columns, columns, step.sums);
    }
  } else {
    for (std::int64_t column = 0; column < kPanelColumns; column += 2 * kLanes) {
      const B* b = columns + column;
      panel_rows<Width::two_vectors>(step, rows, b, b + kLanes, step.sums + column);
    }
  }
}

HWY_NOINLINE void panel_step(const PanelStep& step) {
  if constexpr (kHasPairProducts) {
    if (step.row_pairs != nullptr) return panel_step_on(step, step.row_pairs, step.column_pairs);
  }
  if (step.column_pairs != nullptr) {
    panel_step_on(step, step.rows, step.column_pairs);
  } else {
    panel_step_on(step, step.rows, step.columns);
  }
}

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_PANEL_KERNEL_INL_H_
