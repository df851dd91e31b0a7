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

#include "gemm/simd/decode_inl.h"
#include "gemm/simd/kernels.h"
#include "gemm/simd/lane_pairs_inl.h"
#include "gemm/simd/lane_rows_inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

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

using GroupFactors = float[kLaneColumns][kLaneDepth / kGroup];

// The whole groups of the stretch; partials `lane` on.
template <int kRows, ElementFormat kFormat, int kLocality>
HWY_INLINE void lane_groups(const LaneStep& step, const LanePair& pair, std::int64_t lane,
                            const GroupFactors& factors, LaneSums& s, LaneSums& t) {
  const F32 d;
  const std::uint8_t* codes_a = pair.codes[0] + lane;
  const std::uint8_t* codes_b = pair.codes[1] + lane;
  const float* row = step.rows + lane;
  for (std::int64_t group = 0; group < step.k / kGroup; ++group) {
    // A column is often a page: hardware prefetchers would start anew with each one.
    __builtin_prefetch(pair.next_codes[0] + group * kGroup, 0, kLocality);
    __builtin_prefetch(pair.next_codes[1] + group * kGroup, 0, kLocality);
    const auto a = decode_group<kFormat>(codes_a + group * kGroup, hn::Set(d, factors[0][group]));
    const auto b = decode_group<kFormat>(codes_b + group * kGroup, hn::Set(d, factors[1][group]));
    lane_add_all<kRows>(row, a.first, b.first, s, t);
    lane_add_all<kRows>(row + step.block_stride, a.second, b.second, s, t);
    row += 2 * step.block_stride;
  }
}

// Block `block` alone, of a group that has no other or only a part of it.
template <int kRows, ElementFormat kFormat>
HWY_INLINE void lane_block(const LaneStep& step, const LanePair& pair, std::int64_t lane,
                           std::int64_t block, const GroupFactors& factors, LaneSums& s,
                           LaneSums& t) {
  const F32 d;
  const std::int64_t group = block * kBlock / kGroup;
  const std::int64_t k = block * kBlock + lane;
  lane_add_all<kRows>(step.rows + lane + block * step.block_stride,
                      hn::Mul(decode<kFormat>(pair.codes[0] + k), hn::Set(d, factors[0][group])),
                      hn::Mul(decode<kFormat>(pair.codes[1] + k), hn::Set(d, factors[1][group])), s,
                      t);
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

template <int kRows, ElementFormat kFormat>
HWY_INLINE void lane_vector(const LaneStep& step, const LanePair& pair, std::int64_t lane,
                            const GroupFactors& factors, float* partials) {
  constexpr int kSet = kSetRows * kLaneColumns * kBlock;
  LaneSums s = no_sums(), t = no_sums();
  if (step.start == Start::from_stored) {
    load_sums(partials, s);
    if constexpr (kRows > kSetRows) load_sums(partials + kSet, t);
  }
  if (step.fetch_into_l1) {
    lane_groups<kRows, kFormat, kIntoL1>(step, pair, lane, factors, s, t);
  } else {
    lane_groups<kRows, kFormat, kIntoL2>(step, pair, lane, factors, s, t);
  }
  std::int64_t k = step.k / kGroup * kGroup;
  if (step.k - k >= kBlock) {
    lane_block<kRows, kFormat>(step, pair, lane, k / kBlock, factors, s, t);
    k += kBlock;
  }
  const std::int64_t rest = step.k - k;
  if (rest > lane) {
    const LaneSums s_before = s, t_before = t;
    lane_block<kRows, kFormat>(step, pair, lane, k / kBlock, factors, s, t);
    keep_sums_beyond(lane, rest, s_before, s);
    if constexpr (kRows > kSetRows) keep_sums_beyond(lane, rest, t_before, t);
  }
  store_sums(s, partials);
  if constexpr (kRows > kSetRows) store_sums(t, partials + kSet);
}

// Rows `first` on of all pairs. One call for many: what a pair costs beside its loop counts.
template <int kRows, ElementFormat kFormat>
HWY_NOINLINE void lane_kernel(const LaneStep& step, int first) {
  HWY_ALIGN GroupFactors factors;
  const std::int64_t groups = (step.k + kGroup - 1) / kGroup;
  LanePartials* partials = step.partials;
  for (const LanePair& pair : step.pairs) {
    group_factors<kFormat>(pair.scales[0], groups, factors[0]);
    group_factors<kFormat>(pair.scales[1], groups, factors[1]);
    for (std::int64_t lane = 0; lane < kBlock; lane += kLanes) {
      lane_vector<kRows, kFormat>(step, pair, lane, factors, (*partials)[first][0] + lane);
    }
    ++partials;
  }
}

template <ElementFormat kFormat>
void lane_rows(const LaneStep& step, int rows, int first) {
  switch (rows) {
    case 1:
      return lane_kernel<1, kFormat>(step, first);
    case 2:
      return lane_kernel<2, kFormat>(step, first);
    case 3:
      return lane_kernel<3, kFormat>(step, first);
    case 4:
      return lane_kernel<4, kFormat>(step, first);
  }
  if constexpr (kPassRows > kSetRows) {
    switch (rows) {
      case 5:
        return lane_kernel<5, kFormat>(step, first);
      case 6:
        return lane_kernel<6, kFormat>(step, first);
      case 7:
        return lane_kernel<7, kFormat>(step, first);
      case 8:
        return lane_kernel<8, kFormat>(step, first);
    }
  }
}

// A second pass over the rows takes its codes from L1: it follows the first pair by pair.
template <ElementFormat kFormat>
void lane_passes(const LaneStep& step) {
  if (step.row_count <= kPassRows) return lane_rows<kFormat>(step, step.row_count, 0);
  LaneStep part = step;
  for (std::size_t pair = 0; pair < step.pairs.size(); ++pair) {
    part.pairs = step.pairs.subspan(pair, 1);
    part.partials = step.partials + pair;
    for (int first = 0; first < step.row_count; first += kPassRows) {
      const int left = step.row_count - first;
      part.rows = step.rows + first * kBlock;
      lane_rows<kFormat>(part, left < kPassRows ? left : kPassRows, first);
    }
  }
}

HWY_NOINLINE void lane_step(const LaneStep& step) {
  if constexpr (kHasPairProducts) {
    if (step.row_pairs != nullptr) return lane_pairs(step);
  }
  if (step.format == ElementFormat::e4m3) {
    lane_passes<ElementFormat::e4m3>(step);
  } else {
    lane_passes<ElementFormat::e5m2>(step);
  }
}

// The upper half of the partials is added to the lower one until one is left.
template <class D>
HWY_INLINE float tree_sum(D d, hn::Vec<D> partials) {
  if constexpr (hn::MaxLanes(d) == 1) {
    return hn::GetLane(partials);
  } else {
    const hn::Half<D> half;
    return tree_sum(half, hn::Add(hn::LowerHalf(half, partials), hn::UpperHalf(half, partials)));
  }
}

HWY_INLINE float tree_sum(const float* partials) {
  const F32 d;
  if constexpr (kLanes == kBlock) {
    return tree_sum(d, hn::LoadU(d, partials));
  } else if constexpr (kLanes == kBlock / 2) {
    return tree_sum(d, hn::Add(hn::LoadU(d, partials), hn::LoadU(d, partials + kLanes)));
  } else {
    const V32 low = hn::Add(hn::LoadU(d, partials), hn::LoadU(d, partials + 2 * kLanes));
    const V32 high = hn::Add(hn::LoadU(d, partials + kLanes), hn::LoadU(d, partials + 3 * kLanes));
    return tree_sum(d, hn::Add(low, high));
  }
}

HWY_NOINLINE void lane_sums(const LanePartials& partials, int rows, LaneTotals& totals) {
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < kLaneColumns; ++column) {
      totals[row][column] = tree_sum(partials[row][column]);
    }
  }
}

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TANDEM_GEMM_LANE_KERNEL_INL_H_
