// SPDX-License-Identifier: Apache-2.0
// Vector clocks over all lanes of all cores. What a core knows of itself lies in eight counters;
// what it knows of others is an immutable tree (rank → group of cores → counters) that cores share
// and join by pointer where they can.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "check/reference.h"

namespace tandem::check {

inline constexpr int kClockLanes = 8;  // of a core: scalar stream and pipes; or channel ends
inline constexpr int kGroupCores = 8;

// A lane of a core of a rank, or an end of a channel (channels are cores behind the real ones).
struct Agent {
  int rank = 0;
  int core = 0;  // within the rank
  int lane = 0;
  friend bool operator==(const Agent&, const Agent&) = default;
};

struct Leaf : Shared {
  std::array<std::uint32_t, kGroupCores * kClockLanes> epochs{};
  std::uint64_t digest() const;
};
struct RankKnowledge : Shared {
  std::vector<Reference<Leaf>> groups;
};
struct Knowledge : Shared {
  std::vector<Reference<RankKnowledge>> ranks;
};
using KnowledgeRef = Reference<Knowledge>;

// The union of what both know.
KnowledgeRef join(const KnowledgeRef& a, const KnowledgeRef& b);

// Is it in there that `agent` ended everything up to `epoch`?
bool knows(const KnowledgeRef& known, const Agent& agent, std::uint32_t epoch);

class Clock {
 public:
  void bind(int rank, int core) {
    rank_ = rank;
    core_ = core;
  }
  // Does whoever has this clock know that `agent` ended everything up to `epoch`?
  bool knows(const Agent& agent, std::uint32_t epoch) const;
  std::uint32_t own(int lane) const { return own_[lane]; }
  void set_own(int lane, std::uint32_t epoch) { own_[lane] = epoch; }
  // Joins a clock of the same core, or what another core published.
  void join_same(const Clock& other);
  void join_other(const KnowledgeRef& published);
  // Everything this clock knows, own counters included.
  KnowledgeRef publish() const;
  // A number made of everything it knows: equal knowledge, equal number.
  std::uint64_t digest() const;
  bool same_home(const Clock& other) const { return rank_ == other.rank_ && core_ == other.core_; }

 private:
  int rank_ = 0;
  int core_ = 0;
  std::array<std::uint32_t, kClockLanes> own_{};
  KnowledgeRef known_;
};

}  // namespace tandem::check
