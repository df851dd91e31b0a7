// SPDX-License-Identifier: Apache-2.0
// How long an operation takes where a few workers do everything: each takes its worker's time, and
// nothing passes through a resource that others share.
#pragma once

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/device_costs.h"
#include "base/timeline.h"
#include "sim/op.h"
#include "sim/operand_cache.h"
#include "tandem/types.h"

namespace tandem::sim {

class WorkerCosts {
 public:
  WorkerCosts(const DeviceCosts& costs, int ranks);

  // One tile product, its rows being decoded. In panel order the columns are those of all panels
  // that the tile touches.
  Picoseconds product(const LoadShape& shape, SumOrder order) const;
  // Reading the packed weights of a tile that were not used lately. Call in order of the loads.
  Picoseconds weights(const Op& load, const LoadShape& shape, int rank);
  // Decoding rows of A for a product.
  Picoseconds decode(std::span<const View> rows);
  // FIX, MTE2 and MTE3 of vector cores, V.
  Picoseconds pipe(const Op& op) const;
  Picoseconds transfer(const Op& op) const;

 private:
  const DeviceCosts& costs_;
  std::vector<OperandCache> caches_;             // of packed weights, by rank
  std::set<std::pair<int, std::int64_t>> seen_;  // own rows that were used: rank, offset
};

}  // namespace tandem::sim
