// SPDX-License-Identifier: Apache-2.0
// Lane order: 16 partial sums per element, partial i over k ≡ i mod 16, then a tree. Streams the
// codes of B, so that few rows of A are bound by the bandwidth of one byte per weight.

#if defined(TANDEM_GEMM_LANE_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_GEMM_LANE_KERNEL_INL_H_
#undef TANDEM_GEMM_LANE_KERNEL_INL_H_
#else
#define TANDEM_GEMM_LANE_KERNEL_INL_H_
#endif

#include "gemm/decode_inl.h"
#include "gemm/kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

struct LaneSums {
  V32 r0a, r1a, r2a, r3a;
  V32 r0b, r1b, r2b, r3b;
};

// One vector of partials of up to four rows and two columns, over the blocks [block, end).
template <int kRows, ElementFormat kFormat>
HWY_INLINE void lane_blocks(const LaneStep& step, std::int64_t lane, std::int64_t block,
                            std::int64_t end, LaneSums& s) {
  const F32 d;
  const std::uint8_t* codes_a = step.codes[0] + lane;
  const std::uint8_t* codes_b = step.codes[1] + lane;
  const float* rows = step.rows + lane;
  for (; block < end; ++block) {
    const std::int64_t group = block * kBlock / kGroup;
    const V32 factor_a = hn::Set(d, group_factor<kFormat>(step.scales[0][group]));
    const V32 factor_b = hn::Set(d, group_factor<kFormat>(step.scales[1][group]));
    const V32 column_a = hn::Mul(decode<kFormat>(codes_a + block * kBlock), factor_a);
    const V32 column_b = hn::Mul(decode<kFormat>(codes_b + block * kBlock), factor_b);
    const float* row = rows + block * step.block_stride;
    const V32 row0 = hn::Load(d, row);
    s.r0a = hn::MulAdd(row0, column_a, s.r0a);
    s.r0b = hn::MulAdd(row0, column_b, s.r0b);
    if constexpr (kRows > 1) {
      const V32 row1 = hn::Load(d, row + kBlock);
      s.r1a = hn::MulAdd(row1, column_a, s.r1a);
      s.r1b = hn::MulAdd(row1, column_b, s.r1b);
    }
    if constexpr (kRows > 2) {
      const V32 row2 = hn::Load(d, row + 2 * kBlock);
      s.r2a = hn::MulAdd(row2, column_a, s.r2a);
      s.r2b = hn::MulAdd(row2, column_b, s.r2b);
    }
    if constexpr (kRows > 3) {
      const V32 row3 = hn::Load(d, row + 3 * kBlock);
      s.r3a = hn::MulAdd(row3, column_a, s.r3a);
      s.r3b = hn::MulAdd(row3, column_b, s.r3b);
    }
  }
}

// Partials that the last, partial block doesn't reach keep their bits, the sign of zero included.
HWY_INLINE V32 keep_beyond(std::int64_t lane, std::int64_t rest, V32 before, V32 after) {
  const F32 d;
  const auto index = hn::Iota(d, static_cast<float>(lane));
  return hn::IfThenElse(hn::Lt(index, hn::Set(d, static_cast<float>(rest))), after, before);
}

template <int kRows, ElementFormat kFormat>
HWY_INLINE void lane_vector(const LaneStep& step, std::int64_t lane,
                            float (&partials)[kLaneRows][kLaneColumns][kBlock]) {
  const F32 d;
  const V32 zero = hn::Zero(d);
  LaneSums s = {zero, zero, zero, zero, zero, zero, zero, zero};
  const std::int64_t whole = step.k / kBlock;
  const std::int64_t rest = step.k - whole * kBlock;
  lane_blocks<kRows, kFormat>(step, lane, 0, whole, s);
  if (rest > lane) {
    LaneSums t = s;
    lane_blocks<kRows, kFormat>(step, lane, whole, whole + 1, t);
    s.r0a = keep_beyond(lane, rest, s.r0a, t.r0a);
    s.r0b = keep_beyond(lane, rest, s.r0b, t.r0b);
    s.r1a = keep_beyond(lane, rest, s.r1a, t.r1a);
    s.r1b = keep_beyond(lane, rest, s.r1b, t.r1b);
    s.r2a = keep_beyond(lane, rest, s.r2a, t.r2a);
    s.r2b = keep_beyond(lane, rest, s.r2b, t.r2b);
    s.r3a = keep_beyond(lane, rest, s.r3a, t.r3a);
    s.r3b = keep_beyond(lane, rest, s.r3b, t.r3b);
  }
  hn::StoreU(s.r0a, d, &partials[0][0][lane]);
  hn::StoreU(s.r0b, d, &partials[0][1][lane]);
  hn::StoreU(s.r1a, d, &partials[1][0][lane]);
  hn::StoreU(s.r1b, d, &partials[1][1][lane]);
  hn::StoreU(s.r2a, d, &partials[2][0][lane]);
  hn::StoreU(s.r2b, d, &partials[2][1][lane]);
  hn::StoreU(s.r3a, d, &partials[3][0][lane]);
  hn::StoreU(s.r3b, d, &partials[3][1][lane]);
}

template <int kRows, ElementFormat kFormat>
HWY_NOINLINE void lane_kernel(LaneStep& step) {
  float partials[kLaneRows][kLaneColumns][kBlock];
  for (std::int64_t lane = 0; lane < kBlock; lane += kLanes) {
    lane_vector<kRows, kFormat>(step, lane, partials);
  }
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kLaneColumns; ++column) {
      float* p = partials[row][column];
      for (int half = kBlock / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) p[i] += p[i + half];
      }
      step.sums[row][column] = p[0];
    }
  }
}

template <ElementFormat kFormat>
void lane_rows(LaneStep& step) {
  switch (step.row_count) {
    case 1:
      return lane_kernel<1, kFormat>(step);
    case 2:
      return lane_kernel<2, kFormat>(step);
    case 3:
      return lane_kernel<3, kFormat>(step);
    case 4:
      return lane_kernel<4, kFormat>(step);
  }
}

HWY_NOINLINE void lane_step(LaneStep& step) {
  if (step.format == ElementFormat::e4m3) {
    lane_rows<ElementFormat::e4m3>(step);
  } else {
    lane_rows<ElementFormat::e5m2>(step);
  }
}

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_LANE_KERNEL_INL_H_
