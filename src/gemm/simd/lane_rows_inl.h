// SPDX-License-Identifier: Apache-2.0
// What lane order does with one vector of each of two columns: times up to eight rows, to their
// partial sums.

#if defined(TANDEM_GEMM_LANE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_GEMM_LANE_ROWS_INL_H_
#undef TANDEM_GEMM_LANE_ROWS_INL_H_
#else
#define TANDEM_GEMM_LANE_ROWS_INL_H_
#endif

#include <type_traits>

#include "gemm/simd/decode_inl.h"
#include "gemm/simd/kernels.h"
#include "gemm/simd/pair_products_inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

// Partials of up to four rows and two columns.
struct LaneSums {
  V32 r0a, r1a, r2a, r3a;
  V32 r0b, r1b, r2b, r3b;
};

// Rows that one pass over the codes takes: two sets of sums where there are registers for them.
inline constexpr int kPassRows = kLanes == kBlock ? kLaneRows : kLaneRows / 2;
inline constexpr int kSetRows = 4;

HWY_INLINE LaneSums no_sums() {
  const V32 zero = hn::Zero(F32());
  return {zero, zero, zero, zero, zero, zero, zero, zero};
}

// A row's vector, loaded once for both columns: GCC would read it from memory twice.
template <typename Row>
HWY_INLINE V32 row_vector(const Row* row) {
  V32 values = hn::BitCast(F32(), hn::Load(hn::ScalableTag<Row>(), row));
#if HWY_ARCH_X86
  asm("" : "+v"(values.raw));
#endif
  return values;
}

// Of single values, or of pairs.
template <typename Row>
HWY_INLINE V32 add_product(V32 a, V32 b, V32 sum) {
  if constexpr (std::is_same_v<Row, float>) return hn::MulAdd(a, b, sum);
  return add_pair_products(a, b, sum);
}

template <int kRows, typename Row>
HWY_INLINE void lane_add(const Row* row, V32 column_a, V32 column_b, LaneSums& s) {
  if constexpr (kRows > 0) {
    const V32 row0 = row_vector(row);
    s.r0a = add_product<Row>(row0, column_a, s.r0a);
    s.r0b = add_product<Row>(row0, column_b, s.r0b);
  }
  if constexpr (kRows > 1) {
    const V32 row1 = row_vector(row + kBlock);
    s.r1a = add_product<Row>(row1, column_a, s.r1a);
    s.r1b = add_product<Row>(row1, column_b, s.r1b);
  }
  if constexpr (kRows > 2) {
    const V32 row2 = row_vector(row + 2 * kBlock);
    s.r2a = add_product<Row>(row2, column_a, s.r2a);
    s.r2b = add_product<Row>(row2, column_b, s.r2b);
  }
  if constexpr (kRows > 3) {
    const V32 row3 = row_vector(row + 3 * kBlock);
    s.r3a = add_product<Row>(row3, column_a, s.r3a);
    s.r3b = add_product<Row>(row3, column_b, s.r3b);
  }
}

template <int kRows, typename Row>
HWY_INLINE void lane_add_all(const Row* row, V32 column_a, V32 column_b, LaneSums& s, LaneSums& t) {
  lane_add<(kRows < kSetRows ? kRows : kSetRows)>(row, column_a, column_b, s);
  if constexpr (kRows > kSetRows) {
    lane_add<kRows - kSetRows>(row + kSetRows * kBlock, column_a, column_b, t);
  }
}

// __builtin_prefetch's third argument: into L1, or into L2 only.
inline constexpr int kIntoL1 = 3;
inline constexpr int kIntoL2 = 2;

// Four rows' partials, from that of the first row and column on.
HWY_INLINE void load_sums(const float* at, LaneSums& s) {
  const F32 d;
  s.r0a = hn::LoadU(d, at);
  s.r0b = hn::LoadU(d, at + 1 * kBlock);
  s.r1a = hn::LoadU(d, at + 2 * kBlock);
  s.r1b = hn::LoadU(d, at + 3 * kBlock);
  s.r2a = hn::LoadU(d, at + 4 * kBlock);
  s.r2b = hn::LoadU(d, at + 5 * kBlock);
  s.r3a = hn::LoadU(d, at + 6 * kBlock);
  s.r3b = hn::LoadU(d, at + 7 * kBlock);
}

HWY_INLINE void store_sums(const LaneSums& s, float* at) {
  const F32 d;
  hn::StoreU(s.r0a, d, at);
  hn::StoreU(s.r0b, d, at + 1 * kBlock);
  hn::StoreU(s.r1a, d, at + 2 * kBlock);
  hn::StoreU(s.r1b, d, at + 3 * kBlock);
  hn::StoreU(s.r2a, d, at + 4 * kBlock);
  hn::StoreU(s.r2b, d, at + 5 * kBlock);
  hn::StoreU(s.r3a, d, at + 6 * kBlock);
  hn::StoreU(s.r3b, d, at + 7 * kBlock);
}

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_LANE_ROWS_INL_H_
