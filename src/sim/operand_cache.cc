// SPDX-License-Identifier: Apache-2.0
#include "sim/operand_cache.h"

#include <algorithm>

#include "mx/matrix.h"

namespace tandem::sim {
namespace {

constexpr int kWeightsObject = kBufferCount;  // in keys: B, next to the buffers

}  // namespace

LoadShape shape_of(const Op& load) {
  LoadShape shape;
  for (const Fragment& fragment : load.a) {
    shape.rows += fragment.data.rows;
    shape.k = std::max(shape.k, fragment.data.row_bytes);
    shape.a_bytes += fragment.data.bytes() + fragment.scale.bytes();
  }
  shape.columns = load.b.columns;
  shape.b_bytes = shape.columns.count * (shape.k + scale_row_bytes(shape.k));
  return shape;
}

std::size_t OperandCache::Hash::operator()(const Key& key) const {
  std::uint64_t hash = static_cast<std::uint64_t>(key.object) * 0x9e3779b97f4a7c15u;
  for (std::int64_t part : {key.first, key.count}) {
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

bool OperandCache::touch(const Key& key, std::int64_t bytes, CacheHint hint) {
  const auto found = index_.find(key);
  if (found != index_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return true;
  }
  if (hint == CacheHint::stream) return false;
  entries_.push_front({key, bytes});
  index_.emplace(key, entries_.begin());
  room_ -= bytes;
  while (room_ < 0 && !entries_.empty()) {
    room_ += entries_.back().bytes;
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return false;
}

bool OperandCache::look_up_weights(const Op& load, std::int64_t bytes) {
  const Key key{kWeightsObject + load.b.segment, load.b.columns.first, load.b.columns.count};
  return touch(key, bytes, load.hint);
}

std::int64_t OperandCache::look_up(const Op& load) {
  std::int64_t hits = 0;
  std::int64_t k = 0;
  for (const Fragment& fragment : load.a) {
    const std::int64_t bytes = fragment.data.bytes() + fragment.scale.bytes();
    k = std::max(k, fragment.data.row_bytes);
    const Key key{static_cast<int>(fragment.data.buffer), fragment.data.offset, fragment.data.rows};
    if (touch(key, bytes, CacheHint::keep)) hits += bytes;
  }
  const std::int64_t bytes = load.b.columns.count * (k + scale_row_bytes(k));
  if (look_up_weights(load, bytes)) hits += bytes;
  return hits;
}

}  // namespace tandem::sim
