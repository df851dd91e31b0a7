// SPDX-License-Identifier: Apache-2.0
// What a load brings, and the cache that it may come from.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

#include "sim/op.h"

namespace tandem::sim {

// The product that one load prepares.
struct LoadShape {
  std::int64_t rows = 0;
  Slice columns;
  std::int64_t k = 0;
  std::int64_t a_bytes = 0;
  std::int64_t b_bytes = 0;
  std::int64_t bytes() const { return a_bytes + b_bytes; }
};
LoadShape shape_of(const Op& load);

// A cache of whole operand tiles, least recently used first out. A tile counts as there from the
// moment its first reader asks for it.
class OperandCache {
 public:
  explicit OperandCache(std::int64_t bytes) : room_(bytes) {}
  // Bytes of the operands of `load` that are there; the others are then, unless they only stream.
  std::int64_t look_up(const Op& load);
  // The same of B alone, which takes so many bytes.
  bool look_up_weights(const Op& load, std::int64_t bytes);

 private:
  struct Key {
    int object = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Entry {
    Key key;
    std::int64_t bytes = 0;
  };
  bool touch(const Key& key, std::int64_t bytes, CacheHint hint);

  std::int64_t room_;
  std::list<Entry> entries_;  // last used first
  std::unordered_map<Key, std::list<Entry>::iterator, Hash> index_;
};

}  // namespace tandem::sim
