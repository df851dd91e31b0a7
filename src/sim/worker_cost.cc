// SPDX-License-Identifier: Apache-2.0
#include "sim/worker_cost.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace tandem::sim {
namespace {

constexpr std::int64_t kLaneRows = 8;  // rows for which weights are decoded once, in lane order
constexpr std::int64_t kDecodedUnit = 1024;  // elements that rows_start_ns is for

Picoseconds rounded(double time) { return static_cast<Picoseconds>(std::ceil(time)); }

// 10⁶ bytes a second are a byte in a microsecond.
Picoseconds at_rate(double amount, std::int64_t per_us) {
  return per_us == 0 ? 0 : rounded(amount * 1e6 / static_cast<double>(per_us));
}

}  // namespace

WorkerCosts::WorkerCosts(const DeviceCosts& costs, int ranks)
    : costs_(costs), caches_(ranks, OperandCache(costs.l2_bytes)) {}

Picoseconds WorkerCosts::product(const LoadShape& shape, SumOrder order) const {
  const Picoseconds start = costs_.product_start_ns * 1000;
  if (shape.rows == 0 || shape.columns.count == 0) return start;
  if (order == SumOrder::lane) {
    const auto depth = static_cast<double>(shape.k);
    const auto columns = static_cast<double>(shape.columns.count);
    const auto groups = static_cast<double>(ceil_div(shape.rows, kLaneRows));
    return start + at_rate(groups * columns * depth, costs_.lane_mb_s) +
           at_rate(static_cast<double>(shape.rows) * columns * depth, costs_.lane_products_us);
  }
  const bool free = costs_.cube_m == 0 || costs_.cube_n == 0 || costs_.cube_k == 0;
  if (free || costs_.steps_per_kcycle * costs_.clock_mhz == 0) return start;
  // Panels begin at multiples of cube_n, tiles need not.
  const std::int64_t panels =
      ceil_div(shape.columns.end(), costs_.cube_n) - shape.columns.first / costs_.cube_n;
  const auto steps = static_cast<double>(ceil_div(shape.rows, costs_.cube_m) * panels *
                                         ceil_div(shape.k, costs_.cube_k));
  // steps_per_kcycle · clock_mhz / 1000 steps in a microsecond.
  const double per_us = static_cast<double>(costs_.steps_per_kcycle * costs_.clock_mhz) / 1000;
  return start + rounded(steps * 1e6 / per_us);
}

Picoseconds WorkerCosts::weights(const Op& load, const LoadShape& shape, int rank) {
  const std::int64_t bytes = shape.columns.count * shape.k * kPackedWeightBytes;
  if (costs_.mte2_mb_s == 0 || caches_[rank].look_up_weights(load, bytes)) return 0;
  return at_rate(static_cast<double>(bytes), costs_.mte2_mb_s);
}

Picoseconds WorkerCosts::decode(std::span<const View> rows) {
  std::int64_t time = 0;
  for (const View& view : rows) {
    time += view.bytes() * costs_.rows_start_ns;
    // Rows of peers have just been written; the own ones may not have been used for long.
    if (view.buffer != Buffer::a || costs_.rows_cold_ns == 0) continue;
    if (seen_.insert({view.rank, view.offset}).second) time += view.bytes() * costs_.rows_cold_ns;
  }
  return time * 1000 / kDecodedUnit;
}

Picoseconds WorkerCosts::pipe(const Op& op) const {
  const Picoseconds move = costs_.move_start_ns * 1000;
  const Picoseconds start = costs_.vector_start_ns * 1000;
  const auto elements = static_cast<double>(op.t0.rows * op.t0.columns);
  if (op.kind == OpKind::store_c) {
    double bytes = 0;
    for (const View& view : op.c) bytes += static_cast<double>(view.bytes());
    return move + at_rate(bytes, costs_.fix_mb_s);
  }
  // A load notes where the rows lie: whoever reads them pays.
  if (op.kind == OpKind::load_ub) return move;
  if (op.kind == OpKind::store_ub) {
    return move + at_rate(static_cast<double>(op.v0.bytes()), costs_.mte3_mb_s);
  }
  const bool adds = op.kind == OpKind::accumulate;
  return start +
         at_rate(elements, adds ? costs_.accumulate_elements_us : costs_.convert_elements_us);
}

Picoseconds WorkerCosts::transfer(const Op& op) const {
  return at_rate(static_cast<double>(op.v0.bytes()), costs_.link_mb_s);
}

}  // namespace tandem::sim
