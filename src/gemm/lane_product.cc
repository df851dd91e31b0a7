// SPDX-License-Identifier: Apache-2.0
// The walk of lane order: up to 64 columns, stretch by stretch of k. Stretches and blocks move
// data, never bits.
#include <unistd.h>

#include <algorithm>

#include "gemm/product.h"

namespace tandem::gemm {
namespace {

// The rows of a stretch stay in L1, the partial sums of so many columns in L2.
constexpr std::int64_t kLaneBlock = 64;
constexpr std::int64_t kLanePairs = kLaneBlock / kLaneColumns;
// How far ahead codes are fetched: more than what memory delivers in its own latency.
constexpr std::int64_t kFetchAhead = 16384;

struct LaneWalk {
  const Product& p;
  std::int64_t row = 0;
  int row_count = 0;
  std::int64_t depth = 0;   // k's of a stretch
  std::int64_t column = 0;  // the block's first column, in the tile
  std::int64_t pairs = 0;   // of columns in the block
  std::int64_t stretches() const { return ceil_div(p.segment.k, depth); }
};

constexpr std::int64_t kSmallLevel1 = 32 * 1024;

// Bytes of this machine's L1.
std::int64_t level1_bytes() {
  static const std::int64_t bytes = [] {
    std::int64_t found = 0;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    found = sysconf(_SC_LEVEL1_DCACHE_SIZE);
#endif
    return found > 0 ? found : kSmallLevel1;
  }();
  return bytes;
}

// The rows take two thirds of L1. Pairs are taken by two groups.
std::int64_t lane_depth(const Product& p, int row_count) {
  const std::int64_t value_bytes = p.pairs ? 2 : 4;
  const std::int64_t unit = p.pairs ? 2 * kGroup : kGroup;
  const std::int64_t fits = level1_bytes() * 2 / 3 / value_bytes / row_count;
  const std::int64_t longest = std::clamp(round_down(fits, unit), unit, kLaneDepth);
  const std::int64_t stretches = ceil_div(p.segment.k, longest);
  return round_up(ceil_div(p.segment.k, stretches), unit);
}

// The pairs of columns in the order of the walk: those of a stretch, the block's stretches, blocks.
// Beyond the last column it stays at it.
class LaneCodes {
 public:
  LaneCodes(const LaneWalk& walk, std::int64_t stretch, std::int64_t ahead) : walk_(walk) {
    const std::int64_t at = stretch * walk.pairs + ahead;
    pair_ = at % walk.pairs;
    stretch_ = at / walk.pairs % walk.stretches();
    block_ = at / walk.pairs / walk.stretches() * kLaneBlock;
  }

  // The stretch of column j of this pair.
  const std::uint8_t* codes(std::int64_t j) const {
    const MxMatrix& b = walk_.p.segment.canonical;
    const std::int64_t column = walk_.p.first + walk_.column + block_ + pair_ * kLaneColumns + j;
    return b.row(std::min(column, b.rows - 1)) + stretch_ * walk_.depth;
  }

  void next() {
    if (++pair_ < walk_.pairs) return;
    pair_ = 0;
    if (++stretch_ < walk_.stretches()) return;
    stretch_ = 0;
    block_ += kLaneBlock;
  }

 private:
  const LaneWalk& walk_;
  std::int64_t pair_, stretch_, block_;
};

void find_pairs(const LaneWalk& walk, std::int64_t stretch, std::span<LanePair> pairs) {
  const Product& p = walk.p;
  const MxMatrix& b = p.segment.canonical;
  const std::int64_t k = stretch * walk.depth;
  LaneCodes later(walk, stretch, ceil_div(kFetchAhead, walk.depth * kLaneColumns));
  std::int64_t first = walk.column;
  for (LanePair& pair : pairs) {
    for (std::int64_t j = 0; j < kLaneColumns; ++j) {
      // An odd last column is computed twice.
      const std::int64_t column = p.first + std::min(first + j, p.count - 1);
      pair.codes[j] = b.row(column) + k;
      pair.scales[j] = b.scale_row(column) + k / kGroup;
      pair.next_codes[j] = later.codes(j);
    }
    first += kLaneColumns;
    later.next();
  }
}

// Pairs of one step: as many as take less than half of what the pacer allows.
constexpr std::int64_t kStepMicroseconds = 50;

void lane_stretch(const LaneWalk& walk, std::int64_t stretch, LanePartials* partials) {
  const Product& p = walk.p;
  const std::int64_t k = stretch * walk.depth;
  LanePair pairs[kLanePairs];
  find_pairs(walk, stretch, {pairs, static_cast<std::size_t>(walk.pairs)});
  LaneStep step{.block_stride = p.rows.rows * kBlock,
                .row_count = walk.row_count,
                .format = p.segment.canonical.format,
                .fetch_into_l1 = level1_bytes() > kSmallLevel1,
                .k = std::min(walk.depth, p.segment.k - k),
                .start = stretch == 0 ? Start::from_zero : Start::from_stored};
  if (p.pairs) {
    step.row_pairs = p.rows.pairs.data() + k / 2 * p.rows.rows + walk.row * kBlock;
    step.code_bytes = bf16_bytes_of(step.format);
  } else {
    step.rows = p.rows.blocks.data() + k * p.rows.rows + walk.row * kBlock;
  }
  // Decoding costs as much as four rows.
  const std::int64_t flops = 2 * (walk.row_count + 4) * kLaneColumns * step.k;
  const std::int64_t at_once = std::clamp<std::int64_t>(
      kStepMicroseconds * p.table.lane_flops_per_us / flops, 1, walk.pairs);
  for (std::int64_t pair = 0; pair < walk.pairs; pair += at_once) {
    const std::int64_t count = std::min(at_once, walk.pairs - pair);
    step.pairs = {pairs + pair, static_cast<std::size_t>(count)};
    step.partials = partials + pair;
    p.table.lane_step(step);
    p.pacer.spend(count * flops * 1000 / p.table.lane_flops_per_us);
  }
}

void add_lane_sums(const LaneWalk& walk, const LanePartials* partials) {
  const Product& p = walk.p;
  for (std::int64_t pair = 0; pair < walk.pairs; ++pair) {
    LaneTotals totals;
    p.table.lane_sums(partials[pair], walk.row_count, totals);
    const std::int64_t column = walk.column + pair * kLaneColumns;
    const std::int64_t columns = std::min<std::int64_t>(kLaneColumns, p.count - column);
    for (int i = 0; i < walk.row_count; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        float& sum = p.accumulators.values[(walk.row + i) * p.accumulators.pitch + column + j];
        sum = (p.start == Start::from_zero ? 0.0f : sum) + totals[i][j];
      }
    }
  }
}

}  // namespace

void multiply_lanes(const Product& p) {
  alignas(kCacheLine) LanePartials partials[kLanePairs];
  for (std::int64_t column = 0; column < p.count; column += kLaneBlock) {
    const std::int64_t columns = std::min(kLaneBlock, p.count - column);
    for (std::int64_t row = 0; row < p.rows.rows; row += kLaneRows) {
      LaneWalk walk{.p = p, .row = row, .column = column, .pairs = ceil_div(columns, kLaneColumns)};
      walk.row_count = static_cast<int>(std::min<std::int64_t>(kLaneRows, p.rows.rows - row));
      walk.depth = lane_depth(p, walk.row_count);
      for (std::int64_t stretch = 0; stretch < walk.stretches(); ++stretch) {
        lane_stretch(walk, stretch, partials);
      }
      add_lane_sums(walk, partials);
    }
  }
}

}  // namespace tandem::gemm
