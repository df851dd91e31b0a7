// SPDX-License-Identifier: Apache-2.0
#include "sim/cost.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/strings.h"
#include "mx/matrix.h"

namespace tandem::sim {
namespace {

constexpr int kMissSteps = 16;        // shares of misses are kept in sixteenths
constexpr double kBytesPerPs = 1e-6;  // of one mb_s

enum FlowKind { cube_load, cube_store, vector_load, vector_store, write_back };

}  // namespace

CostModel::CostModel(const Device& device, int ranks, FreeCores free, FlowNetwork& flows)
    : costs_(device.costs),
      l1_bytes_(device.memory.l1_bytes),
      shared_workers_(device.shared_workers),
      free_(free),
      flows_(flows),
      workers_(costs_, ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    caches_.emplace_back(costs_.l2_bytes);
    hbm_.push_back(resource(cat("rank ", rank, " HBM"), rank, costs_.hbm_mb_s));
    l2_.push_back(resource(cat("rank ", rank, " L2"), rank, costs_.l2_mb_s));
    egress_.push_back(resource(cat("rank ", rank, " egress"), rank, costs_.egress_mb_s));
    ingress_.push_back(resource(cat("rank ", rank, " ingress"), rank, costs_.ingress_mb_s));
  }
}

int CostModel::resource(const std::string& name, int rank, std::int64_t mb_s) {
  const double capacity = static_cast<double>(mb_s) * kBytesPerPs;
  named_.push_back({name, rank, capacity});
  return flows_.add_resource(capacity);
}

int CostModel::memory_flow(const MemoryPath& path) {
  const auto rank = static_cast<std::uint64_t>(path.rank);
  const std::uint64_t key = ((rank * 32 + path.misses) * 4 + path.weight) * 8 + path.kind;
  const auto found = classes_.find(key);
  if (found != classes_.end()) return found->second;
  std::vector<FlowNetwork::Use> uses;
  const bool stores = path.kind == cube_store || path.kind == vector_store;
  if (!stores || costs_.l2_mb_s == 0) {
    uses.push_back({hbm_[path.rank], static_cast<double>(path.weight * path.misses) / kMissSteps});
  }
  if (stores || path.kind == cube_load) uses.push_back({l2_[path.rank], 1});
  const int flow = flows_.class_of(uses, static_cast<double>(path.cap_mb_s) * kBytesPerPs);
  classes_.emplace(key, flow);
  return flow;
}

int CostModel::link_flow(const LinkPath& path) {
  const std::uint64_t pair = static_cast<std::uint64_t>(path.from) * 64 + path.to;
  const auto core = static_cast<std::uint64_t>(path.core);
  const std::uint64_t key =
      (std::uint64_t{1} << 48) + core * 65536 + (pair * 2 + path.reads) * 4 + path.weight;
  const auto found = classes_.find(key);
  if (found != classes_.end()) return found->second;
  const auto [link, fresh] = links_.emplace(pair, 0);
  if (fresh) {
    link->second = resource(cat("link ", path.from, " to ", path.to), path.from, costs_.link_mb_s);
  }
  const auto [sender, first] = senders_.emplace(path.core, 0);
  if (first) {
    sender->second =
        resource(cat("core ", path.core, " transfers"), path.from, costs_.core_send_mb_s);
  }
  std::vector<FlowNetwork::Use> uses{
      {egress_[path.from], 1}, {link->second, 1}, {ingress_[path.to], 1}, {sender->second, 1}};
  if (path.reads) uses.push_back({hbm_[path.from], 1});
  uses.push_back({hbm_[path.to], static_cast<double>(path.weight)});
  const int flow = flows_.class_of(uses, 0);
  classes_.emplace(key, flow);
  return flow;
}

Service CostModel::through_memory(const MemoryPath& path, double bytes) {
  const Picoseconds start = costs_.move_start_ns * 1000;
  if (bytes <= 0 || path.cap_mb_s + costs_.hbm_mb_s == 0) return {.time = start};
  Service service{memory_flow(path), bytes, start};
  const bool stores = path.kind == cube_store || path.kind == vector_store;
  if (stores && costs_.l2_mb_s > 0 && costs_.hbm_mb_s > 0) {
    service.write_back = memory_flow({write_back, path.rank, kMissSteps, path.weight, 0});
  }
  return service;
}

Service CostModel::through_link(const LinkPath& path, double bytes) {
  const bool limited = costs_.link_mb_s + costs_.egress_mb_s + costs_.ingress_mb_s +
                           costs_.core_send_mb_s + costs_.hbm_mb_s >
                       0;
  if (bytes <= 0 || !limited) return {};
  return {link_flow(path), bytes, 0};
}

Picoseconds CostModel::cycles(double count) const {
  if (costs_.clock_mhz == 0) return 0;
  return static_cast<Picoseconds>(std::ceil(count * 1e6 / static_cast<double>(costs_.clock_mhz)));
}

double CostModel::head_of(const LoadShape& shape) const {
  if (l1_bytes_ == 0 || shape.bytes() == 0) return 1;
  return std::min(1.0, static_cast<double>(l1_bytes_) / 2 / static_cast<double>(shape.bytes()));
}

Service CostModel::load(const Op& op, const LoadShape& shape, int rank, TimelineRank& totals) {
  std::int64_t hits = 0;
  if (costs_.l2_bytes > 0) hits = caches_[rank].look_up(op);
  const std::int64_t bytes = shape.bytes();
  totals.mte2_bytes += bytes;
  totals.hbm_bytes += bytes - hits;
  if (is_free(false) || shared_workers_ || bytes == 0) return {};
  const auto misses = static_cast<int>(ceil_div((bytes - hits) * kMissSteps, bytes));
  return through_memory({cube_load, rank, misses, 1, costs_.mte2_mb_s}, static_cast<double>(bytes));
}

Picoseconds CostModel::stage(const LoadShape& shape) const {
  if (is_free(false) || shared_workers_ || costs_.mte1_mb_s == 0) return 0;
  const double bytes = static_cast<double>(shape.bytes());
  return costs_.move_start_ns * 1000 +
         static_cast<Picoseconds>(
             std::ceil(bytes / (static_cast<double>(costs_.mte1_mb_s) * kBytesPerPs)));
}

Picoseconds CostModel::product(const LoadShape& shape) const {
  if (is_free(false) || costs_.cube_m == 0 || costs_.steps_per_kcycle == 0) return 0;
  const auto steps = static_cast<double>(ceil_div(shape.rows, costs_.cube_m) *
                                         ceil_div(shape.columns.count, costs_.cube_n) *
                                         ceil_div(shape.k, costs_.cube_k));
  return costs_.product_start_ns * 1000 +
         cycles(steps * 1000 / static_cast<double>(costs_.steps_per_kcycle));
}

Service CostModel::pipe(const Op& op, int rank) {
  if (is_free(op.kind != OpKind::store_c)) return {};
  if (shared_workers_) return {.time = workers_.pipe(op)};
  if (op.kind == OpKind::store_c) {
    double bytes = 0;
    for (const View& view : op.c) bytes += static_cast<double>(view.bytes());
    const int weight = op.mode == StoreMode::atomic_add ? 2 : 1;
    return through_memory({cube_store, rank, kMissSteps, weight, costs_.fix_mb_s}, bytes);
  }
  const auto bytes = static_cast<double>(op.v0.bytes());
  if (op.kind == OpKind::load_ub) {
    return through_memory({vector_load, rank, kMissSteps, 1, costs_.mte2_mb_s}, bytes);
  }
  if (op.kind == OpKind::store_ub) {
    return through_memory({vector_store, rank, kMissSteps, 1, costs_.mte3_mb_s}, bytes);
  }
  const auto elements = static_cast<double>(op.t0.rows * op.t0.columns);
  const double lanes = static_cast<double>(std::max<std::int64_t>(costs_.vector_elements, 1));
  // Accumulating widens, then adds or copies.
  const int instructions = op.kind == OpKind::accumulate ? 2 : 1;
  return {.time = cycles(instructions * elements / lanes) + costs_.vector_start_ns * 1000};
}

Service CostModel::transfer(const Op& op, int rank, int peer) {
  if (is_free(true)) return {};
  if (shared_workers_) return {.time = workers_.transfer(op)};
  LinkPath path{.from = rank, .to = peer, .core = op.core};
  if (op.kind == OpKind::read) std::swap(path.from, path.to);
  path.reads = op.kind != OpKind::write_value && op.kind != OpKind::fetch_add;
  path.weight = op.kind == OpKind::write_reduce ? 2 : 1;
  return through_link(path, static_cast<double>(op.v0.bytes()));
}

}  // namespace tandem::sim
