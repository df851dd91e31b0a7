// SPDX-License-Identifier: Apache-2.0
#include "plan/swat.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/checked.h"

namespace tandem {
namespace {

constexpr std::int64_t kCubeBlock = 16;       // edge of the cube unit's block
constexpr std::int64_t kGroup = 32;           // elements along K that share a scale
constexpr std::int64_t kGroupPair = 64;       // K granule: two scales
constexpr std::int64_t kLine = 128;           // cache line of the loads, in bytes
constexpr std::int64_t kBase = 256;           // first choice of base_m and base_n
constexpr std::int64_t kBaseKMax = 4095;      // limit of the instruction that loads L0
constexpr std::int64_t kLoadMin = 32 * 1024;  // bytes from which a load runs at full speed
constexpr std::int64_t kScaleFactorMax = 127;
constexpr std::int64_t kStepKMax = 4;
constexpr std::int64_t kWindow = 4;  // block rows of a scheduling window
constexpr std::int64_t kAccumulatorBytes = 4;

struct BaseBlock {
  std::int64_t m = 0, n = 0, k = 0;
};

// One axis of the grid while its base block is being chosen.
struct AxisChoice {
  std::int64_t extent = 0;
  std::int64_t align = kCubeBlock;
  std::int64_t base = 0;
  std::int64_t blocks = 0;

  void spread() { base = round_up(ceil_div(extent, blocks), align); }
  void count() { blocks = ceil_div(extent, base); }
};

// `major` keeps its number of blocks, `minor` takes the cores that this leaves.
void share_cores(AxisChoice& major, AxisChoice& minor, std::int64_t cores) {
  major.spread();
  major.count();
  minor.blocks = cores / major.blocks;
  minor.spread();
}

void double_blocks(AxisChoice& major, AxisChoice& minor, std::int64_t cores) {
  major.blocks *= 2;
  minor.blocks = cores / major.blocks;
  major.spread();
  minor.spread();
  major.count();
  minor.count();
}

// Fewer blocks than cores: smaller, squarer blocks along M and N, longer along K.
BaseBlock adjust(const TilingRequest& request, const DeviceMemory& memory, BaseBlock base) {
  const std::int64_t cores = request.cores;
  AxisChoice m{request.m, kCubeBlock, base.m, ceil_div(request.m, base.m)};
  AxisChoice n{request.n, request.trans_b ? kCubeBlock : kLine, base.n,
               ceil_div(request.n, base.n)};
  const std::int64_t m_max = ceil_div(m.extent, m.align);
  const std::int64_t n_max = ceil_div(n.extent, n.align);
  if (!request.trans_b && m_max * n_max < cores) return base;
  if (m_max > n_max) {
    share_cores(n, m, cores);
  } else {
    share_cores(m, n, cores);
  }
  while (n.base > 2 * m.base && n.blocks < cores / 2 && n.base != n.align) {
    double_blocks(n, m, cores);
  }
  while (m.base >= 2 * n.base && m.blocks < cores / 2 && m.base != m.align) {
    double_blocks(m, n, cores);
  }
  const std::int64_t k_max = round_down(memory.l0a_bytes / 2 / std::max(m.base, n.base), kLine);
  if (k_max < kLine) return base;
  base = {m.base, n.base, std::min(round_up(request.k, kLine), k_max)};
  if (base.k > kBaseKMax) base.k = round_up(base.k / 2, 256);
  return base;
}

BaseBlock choose_base(const TilingRequest& request, const DeviceMemory& memory,
                      BaseHalving halving) {
  BaseBlock base{round_up(std::min(request.m, kBase), kCubeBlock),
                 round_up(std::min(request.n, kBase), request.trans_b ? kCubeBlock : kGroup),
                 round_up(std::min(request.k, kLine), kGroupPair)};
  const auto blocks = [&] { return ceil_div(request.m, base.m) * ceil_div(request.n, base.n); };
  if (blocks() < request.cores) base = adjust(request, memory, base);
  if (halving == BaseHalving::on && blocks() < 2 * std::int64_t{request.cores} &&
      base.m % (2 * kCubeBlock) == 0 && base.m < request.m) {
    base.m /= 2;
  }
  return base;
}

struct EdgeBlocks {
  int split = 1;
  std::int64_t main = 0;
};

// Several blocks at the edge share the remainder, so that the last window is not spoilt by one
// thin block. Its length is judged in rows: full windows plus `windows` lighter ones.
EdgeBlocks merge_edge(std::int64_t extent, std::int64_t base) {
  EdgeBlocks edge;
  const std::int64_t blocks = ceil_div(extent, base);
  const std::int64_t rest = extent % base;
  if (blocks <= 1 || rest == 0) return edge;
  const std::int64_t limit = std::min((base - rest) / kCubeBlock, blocks);
  const std::int64_t window = std::min(kWindow, blocks);
  const std::int64_t full_windows = blocks / window - 1;
  const std::int64_t last_window = blocks - full_windows * window;
  std::int64_t best = (full_windows + 1) * base;
  std::int64_t windows = 1;
  for (std::int64_t merged = last_window - 1; merged < limit; merged += window, ++windows) {
    const std::int64_t main = round_up(ceil_div(merged * base + rest, merged + 1), kCubeBlock);
    const std::int64_t length = (full_windows + 1 - windows) * base + windows * main;
    if (length > best) continue;
    best = length;
    edge = {static_cast<int>(merged + 1), main};
  }
  return edge;
}

// Parts of each tile of the last wave along one axis, while they grow.
struct TailAxis {
  std::int64_t base = 0;
  std::int64_t last = 0;  // extent of the last block
  std::int64_t parts = 1;
  std::int64_t parts_max = 1;
  bool aligned = false;  // parts must stay multiples of the cube block
};

bool try_grow(TailAxis& axis, std::int64_t others, std::int64_t cores) {
  const std::int64_t step_max = axis.aligned ? 2 : 1;
  for (std::int64_t step = 1; step <= step_max; ++step) {
    const std::int64_t parts = axis.parts + step;
    if (parts > axis.parts_max || parts * others > cores) return false;
    if (axis.aligned && (ceil_div(axis.last, parts) % kCubeBlock != 0 ||
                         ceil_div(axis.base, parts) % kCubeBlock != 0)) {
      continue;
    }
    axis.parts = parts;
    return true;
  }
  return false;
}

// The last wave has fewer tiles than cores: cut them, so that more cores take part.
void split_tail(const TilingRequest& request, std::int64_t tail_tiles, Tiling& tiling) {
  if (tail_tiles == 0) return;
  const std::int64_t cores = request.cores;
  const auto axis = [&](std::int64_t extent, std::int64_t base, bool aligned) {
    const std::int64_t last = extent - (ceil_div(extent, base) - 1) * base;
    return TailAxis{base, last, 1, std::min(cores / tail_tiles, ceil_div(base, kCubeBlock)),
                    aligned};
  };
  TailAxis m = axis(request.m, tiling.base_m, request.tail_alignment == TailAlignment::on);
  TailAxis n = axis(request.n, tiling.base_n, false);
  TailAxis& first = n.last > m.last ? n : m;
  TailAxis& second = n.last > m.last ? m : n;
  for (bool grown = true; grown;) {
    grown = try_grow(first, second.parts * tail_tiles, cores);
    grown = try_grow(second, first.parts * tail_tiles, cores) || grown;
  }
  tiling.m_tail_tile = static_cast<int>(m.parts);
  tiling.n_tail_tile = static_cast<int>(n.parts);
}

// What one operand occupies in L1.
struct Side {
  std::int64_t data_bytes = 0;  // of one base_k
  std::int64_t scale_bytes = 0;
  std::int64_t depth = 1;         // blocks of base_k held
  std::int64_t step_k = 1;        // blocks of base_k in one load
  std::int64_t scale_factor = 1;  // loads of data per load of scales

  std::int64_t bytes() const { return data_bytes + scale_bytes; }
};

// A side whose `depth` blocks make small loads may take more of the memory left over.
std::int64_t deepen(const Side& side, std::int64_t depth, std::int64_t left, std::int64_t base_k) {
  const std::int64_t bytes = depth * side.bytes();
  if (depth > 1 && bytes > 2 * kLoadMin) return depth;
  std::int64_t scale = left / bytes;
  while (scale * base_k > 256 && scale * base_k % 512 != 0) --scale;
  return depth * std::max<std::int64_t>(scale, 1);
}

void choose_depths(Side& a, Side& b, std::int64_t l1_bytes, std::int64_t base_k) {
  const std::int64_t unit = a.bytes() + b.bytes();
  std::int64_t depth = 1;
  while (2 * depth * unit < l1_bytes) depth *= 2;
  const std::int64_t left = l1_bytes - depth * unit;
  const std::int64_t deep_a = deepen(a, depth, left, base_k);
  const std::int64_t deep_b = deepen(b, depth, left, base_k);
  a.depth = b.depth = std::max(deep_a, deep_b);
  if (a.depth * unit <= l1_bytes) return;
  a.depth = deep_a >= deep_b ? deep_a : depth;
  b.depth = deep_a < deep_b ? deep_b : depth;
}

void choose_steps(Side& a, Side& b, std::int64_t k, std::int64_t base_k) {
  // Half of the depth is being loaded while the other half is in use. An L1 that holds a single
  // block leaves no such half: it is loaded and used in turn.
  for (Side* side : {&a, &b}) {
    side->step_k = std::min(std::max<std::int64_t>(side->depth / 2, 1), ceil_div(k, base_k));
  }
  Side& larger = a.step_k >= b.step_k ? a : b;
  larger.step_k = round_down(larger.step_k, std::min(a.step_k, b.step_k));
  for (Side* side : {&a, &b}) {
    side->step_k = std::min(side->step_k, kStepKMax);
    side->depth = std::min(side->depth, 2 * side->step_k);
  }
}

// Scales are loaded for several loads of data at once, as far as the rest of L1 reaches.
void choose_scale_factors(Side& a, Side& b, std::int64_t l1_bytes, std::int64_t k,
                          std::int64_t base_k) {
  for (Side* side : {&a, &b}) {
    const std::int64_t factor_max = std::min(kLoadMin / side->scale_bytes, kScaleFactorMax);
    side->scale_factor = std::clamp<std::int64_t>(k / (side->step_k * base_k), 1,
                                                  std::max<std::int64_t>(factor_max, 1));
  }
  const std::int64_t a_bytes = a.depth * a.scale_bytes;
  const std::int64_t b_bytes = b.depth * b.scale_bytes;
  const std::int64_t left = l1_bytes - a.depth * a.data_bytes - b.depth * b.data_bytes;
  const std::int64_t balanced = left / (a_bytes + b_bytes);  // ≥ 1: the depths left room for it
  TANDEM_CHECK(balanced >= 1, "scales don't fit beside their data");
  const bool a_fits = a.scale_factor <= balanced;
  const bool b_fits = b.scale_factor <= balanced;
  if (a_fits && b_fits) return;
  if (a_fits) {
    b.scale_factor = std::min(b.scale_factor, (left - a.scale_factor * a_bytes) / b_bytes);
    return;
  }
  if (b_fits) {
    a.scale_factor = std::min(a.scale_factor, (left - b.scale_factor * b_bytes) / a_bytes);
    return;
  }
  const std::int64_t rest = left - balanced * (a_bytes + b_bytes);
  const std::int64_t a_gain = std::min(rest / a_bytes, a.scale_factor - balanced);
  const std::int64_t b_gain = std::min(rest / b_bytes, b.scale_factor - balanced);
  a.scale_factor = balanced + (a_gain >= b_gain ? a_gain : 0);
  b.scale_factor = balanced + (a_gain < b_gain ? b_gain : 0);
}

Side make_side(std::int64_t base, std::int64_t base_k) {
  Side side;
  side.data_bytes = base * base_k;
  side.scale_bytes = base * round_up(ceil_div(base_k, kGroup), 2);
  return side;
}

void refuse_small_buffers(const BaseBlock& base, const DeviceMemory& memory) {
  std::string reasons;
  const auto need = [&](std::string_view buffer, std::int64_t needed, std::int64_t present) {
    if (needed <= present) return;
    if (!reasons.empty()) reasons += '\n';
    reasons += "tiling: a base block of " + std::to_string(base.m) + " x " +
               std::to_string(base.n) + " x " + std::to_string(base.k) + " needs " +
               std::to_string(needed) + " bytes of " + std::string(buffer) + ", the device has " +
               std::to_string(present) +
               "; use a larger buffer or a device with a fixed base block";
  };
  need("L1", make_side(base.m, base.k).bytes() + make_side(base.n, base.k).bytes(),
       memory.l1_bytes);
  need("L0A", 2 * std::max(base.m, base.n) * base.k, memory.l0a_bytes);
  need("L0C", base.m * base.n * kAccumulatorBytes, memory.l0c_bytes);
  if (!reasons.empty()) throw Error(ErrorKind::refused, reasons);
}

}  // namespace

Tiling swat_tiling(const TilingRequest& request, const DeviceMemory& memory, BaseHalving halving) {
  TANDEM_CHECK(request.m >= 1 && request.n >= 1 && request.k >= 1 && request.cores >= 1,
               "a tiling needs a product and a core");
  const BaseBlock base = choose_base(request, memory, halving);
  refuse_small_buffers(base, memory);

  Tiling tiling;
  tiling.m = request.m;
  tiling.n = request.n;
  tiling.k = request.k;
  tiling.base_m = base.m;
  tiling.base_n = base.n;
  tiling.base_k = base.k;
  const std::int64_t blocks = ceil_div(request.m, base.m) * ceil_div(request.n, base.n);
  const std::int64_t tail_tiles = blocks % request.cores;
  tiling.l0c_buffers = 2 * base.m * base.n * kAccumulatorBytes <= memory.l0c_bytes ? 2 : 1;

  if (request.edge_merge == EdgeMerge::on && blocks > 1 && request.k % kLine == 0) {
    const EdgeBlocks rows = merge_edge(request.m, base.m);
    const EdgeBlocks columns = request.trans_b ? merge_edge(request.n, base.n) : EdgeBlocks{};
    tiling.m_base_tail_split = rows.split;
    tiling.m_tail_main = rows.main;
    tiling.n_base_tail_split = columns.split;
    tiling.n_tail_main = columns.main;
  }
  split_tail(request, tail_tiles, tiling);
  tiling.used_cores = blocks > 1 || tail_tiles == 0
                          ? request.cores
                          : static_cast<int>(tail_tiles) * tiling.m_tail_tile * tiling.n_tail_tile;

  Side a = make_side(base.m, base.k);
  Side b = make_side(base.n, base.k);
  choose_depths(a, b, memory.l1_bytes, base.k);
  choose_steps(a, b, request.k, base.k);
  choose_scale_factors(a, b, memory.l1_bytes, request.k, base.k);
  tiling.step_k = static_cast<int>(std::min(a.step_k, b.step_k));
  tiling.buffers = std::min(a.depth, b.depth) >= 2 ? 2 : 1;
  tiling.scale_k_l1 =
      std::min(a.scale_factor * a.step_k * base.k, b.scale_factor * b.step_k * base.k);
  return tiling;
}

}  // namespace tandem
