// SPDX-License-Identifier: Apache-2.0
// Lane order: 16 partial sums per element, partial i over k ≡ i mod 16, then a tree. Streams the
// codes of B, so that few rows of A are bound by the bandwidth of one byte per weight.

#if defined(TANDEM_GEMM_LANE_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_GEMM_LANE_KERNEL_INL_H_
#undef TANDEM_GEMM_LANE_KERNEL_INL_H_
#else
#define TANDEM_GEMM_LANE_KERNEL_INL_H_
#endif

#include <cstring>

#include "gemm/decode_inl.h"
#include "gemm/kernels.h"
#include "hwy/cache_control.h"
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

template <int kRows>
HWY_INLINE void lane_add(const float* row, V32 column_a, V32 column_b, LaneSums& s) {
  const F32 d;
  if constexpr (kRows > 0) {
    const V32 row0 = hn::Load(d, row);
    s.r0a = hn::MulAdd(row0, column_a, s.r0a);
    s.r0b = hn::MulAdd(row0, column_b, s.r0b);
  }
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

// Groups whose factors are computed at once, sixteen scales a step, and read as broadcasts.
inline constexpr std::int64_t kFactorGroups = 128;

template <ElementFormat kFormat>
HWY_INLINE void group_factors(const std::uint8_t* scales, std::int64_t groups, float* factors) {
  for (std::int64_t group = 0; group < groups; group += kLanes) {
    std::uint8_t rest[kLanes] = {};
    const std::uint8_t* from = scales + group;
    if (groups - group < kLanes) {
      std::memcpy(rest, from, static_cast<std::size_t>(groups - group));
      from = rest;
    }
    hn::Store(factors_of<kFormat>(from), F32(), factors + group);
  }
}

// The blocks [block, end) of a chunk of groups whose first block is `origin`; partials `lane` on.
template <int kRows, ElementFormat kFormat>
HWY_INLINE void lane_blocks(const LaneStep& step, std::int64_t lane, std::int64_t block,
                            std::int64_t end, const float (&factors)[kLaneColumns][kFactorGroups],
                            LaneSums& s, LaneSums& t) {
  const F32 d;
  constexpr std::int64_t kChunkBlocks = kFactorGroups * kGroup / kBlock;
  const std::int64_t origin = block / kChunkBlocks * kChunkBlocks;
  const std::uint8_t* codes_a = step.codes[0] + lane;
  const std::uint8_t* codes_b = step.codes[1] + lane;
  const float* row = step.rows + lane + block * step.block_stride;
  for (; block < end; ++block) {
    // A column is often a page: hardware prefetchers would start anew with each one. Into L2, which
    // has more misses in flight than L1.
    __builtin_prefetch(step.next_codes[0] + block * kBlock, 0, 2);
    __builtin_prefetch(step.next_codes[1] + block * kBlock, 0, 2);
    const std::int64_t group = (block - origin) * kBlock / kGroup;
    const V32 factor_a = hn::Set(d, factors[0][group]);
    const V32 factor_b = hn::Set(d, factors[1][group]);
    const V32 column_a = hn::Mul(decode<kFormat>(codes_a + block * kBlock), factor_a);
    const V32 column_b = hn::Mul(decode<kFormat>(codes_b + block * kBlock), factor_b);
    lane_add<(kRows < kSetRows ? kRows : kSetRows)>(row, column_a, column_b, s);
    if constexpr (kRows > kSetRows) {
      lane_add<kRows - kSetRows>(row + kSetRows * kBlock, column_a, column_b, t);
    }
    row += step.block_stride;
  }
}

// Partials that the last, partial block doesn't reach keep their bits, the sign of zero included.
HWY_INLINE V32 keep_beyond(std::int64_t lane, std::int64_t rest, V32 before, V32 after) {
  const F32 d;
  const auto index = hn::Iota(d, static_cast<float>(lane));
  return hn::IfThenElse(hn::Lt(index, hn::Set(d, static_cast<float>(rest))), after, before);
}

HWY_INLINE void keep_sums_beyond(std::int64_t lane, std::int64_t rest, const LaneSums& before,
                                 LaneSums& after) {
  after.r0a = keep_beyond(lane, rest, before.r0a, after.r0a);
  after.r0b = keep_beyond(lane, rest, before.r0b, after.r0b);
  after.r1a = keep_beyond(lane, rest, before.r1a, after.r1a);
  after.r1b = keep_beyond(lane, rest, before.r1b, after.r1b);
  after.r2a = keep_beyond(lane, rest, before.r2a, after.r2a);
  after.r2b = keep_beyond(lane, rest, before.r2b, after.r2b);
  after.r3a = keep_beyond(lane, rest, before.r3a, after.r3a);
  after.r3b = keep_beyond(lane, rest, before.r3b, after.r3b);
}

using LanePartials = float[kLaneRows][kLaneColumns][kBlock];

HWY_INLINE void store_sums(const LaneSums& s, int first, std::int64_t lane,
                           LanePartials& partials) {
  const F32 d;
  hn::StoreU(s.r0a, d, &partials[first + 0][0][lane]);
  hn::StoreU(s.r0b, d, &partials[first + 0][1][lane]);
  hn::StoreU(s.r1a, d, &partials[first + 1][0][lane]);
  hn::StoreU(s.r1b, d, &partials[first + 1][1][lane]);
  hn::StoreU(s.r2a, d, &partials[first + 2][0][lane]);
  hn::StoreU(s.r2b, d, &partials[first + 2][1][lane]);
  hn::StoreU(s.r3a, d, &partials[first + 3][0][lane]);
  hn::StoreU(s.r3b, d, &partials[first + 3][1][lane]);
}

template <int kRows, ElementFormat kFormat>
HWY_INLINE void lane_vector(const LaneStep& step, std::int64_t lane, LanePartials& partials) {
  constexpr std::int64_t kChunkBlocks = kFactorGroups * kGroup / kBlock;
  HWY_ALIGN float factors[kLaneColumns][kFactorGroups];
  LaneSums s = no_sums(), t = no_sums();
  const std::int64_t whole = step.k / kBlock;
  const std::int64_t rest = step.k - whole * kBlock;
  const std::int64_t all = whole + (rest > 0 ? 1 : 0);
  for (std::int64_t block = 0; block < all; block += kChunkBlocks) {
    const std::int64_t first = block * kBlock / kGroup;
    const std::int64_t left = (step.k + kGroup - 1) / kGroup - first;
    const std::int64_t groups = left < kFactorGroups ? left : kFactorGroups;
    group_factors<kFormat>(step.scales[0] + first, groups, factors[0]);
    group_factors<kFormat>(step.scales[1] + first, groups, factors[1]);
    const std::int64_t end = whole - block < kChunkBlocks ? whole : block + kChunkBlocks;
    lane_blocks<kRows, kFormat>(step, lane, block, end, factors, s, t);
    if (end == block + kChunkBlocks || rest <= lane) continue;
    const LaneSums s_before = s, t_before = t;
    lane_blocks<kRows, kFormat>(step, lane, whole, all, factors, s, t);
    keep_sums_beyond(lane, rest, s_before, s);
    if constexpr (kRows > kSetRows) keep_sums_beyond(lane, rest, t_before, t);
  }
  store_sums(s, 0, lane, partials);
  if constexpr (kRows > kSetRows) store_sums(t, kSetRows, lane, partials);
}

template <int kRows, ElementFormat kFormat>
HWY_NOINLINE void lane_kernel(LaneStep& step, int first_row) {
  LanePartials partials;
  for (std::int64_t lane = 0; lane < kBlock; lane += kLanes) {
    lane_vector<kRows, kFormat>(step, lane, partials);
  }
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kLaneColumns; ++column) {
      float* p = partials[row][column];
      for (int half = kBlock / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) p[i] += p[i + half];
      }
      step.sums[first_row + row][column] = p[0];
    }
  }
}

template <ElementFormat kFormat>
void lane_rows(LaneStep& step, int rows, int first_row) {
  switch (rows) {
    case 1:
      return lane_kernel<1, kFormat>(step, first_row);
    case 2:
      return lane_kernel<2, kFormat>(step, first_row);
    case 3:
      return lane_kernel<3, kFormat>(step, first_row);
    case 4:
      return lane_kernel<4, kFormat>(step, first_row);
  }
  if constexpr (kPassRows > kSetRows) {
    switch (rows) {
      case 5:
        return lane_kernel<5, kFormat>(step, first_row);
      case 6:
        return lane_kernel<6, kFormat>(step, first_row);
      case 7:
        return lane_kernel<7, kFormat>(step, first_row);
      case 8:
        return lane_kernel<8, kFormat>(step, first_row);
    }
  }
}

HWY_NOINLINE void lane_step(LaneStep& step) {
  LaneStep part = step;
  for (int first = 0; first < step.row_count; first += kPassRows) {
    const int left = step.row_count - first;
    const int rows = left < kPassRows ? left : kPassRows;
    part.rows = step.rows + first * kBlock;
    if (step.format == ElementFormat::e4m3) {
      lane_rows<ElementFormat::e4m3>(part, rows, first);
    } else {
      lane_rows<ElementFormat::e5m2>(part, rows, first);
    }
  }
  for (int row = 0; row < step.row_count; ++row) {
    for (int column = 0; column < kLaneColumns; ++column) {
      step.sums[row][column] = part.sums[row][column];
    }
  }
}

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_LANE_KERNEL_INL_H_
