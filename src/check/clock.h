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
  // Who published it and when, if it was published: who knows that epoch knows all of it.
  Agent publisher;
  std::uint32_t epoch = 0;
};
using KnowledgeRef = Reference<Knowledge>;

// The union of what both know.
KnowledgeRef join(const KnowledgeRef& a, const KnowledgeRef& b);

// Is it in there that `agent` ended everything up to `epoch`?
bool knows(const KnowledgeRef& known, const Agent& agent, std::uint32_t epoch);

// A clock of one lane of a core, or of a channel. Clocks of a core share most of what they know of
// others, and clocks that were published are known by their epoch: joins compare numbers first.
class Clock {
 public:
  void bind(const Agent& agent) { agent_ = agent; }
  // Does whoever has this clock know that `agent` ended everything up to `epoch`?
  bool knows(const Agent& agent, std::uint32_t epoch) const;
  std::uint32_t own(int lane) const { return own_[lane]; }
  void set_own(int lane, std::uint32_t epoch) { own_[lane] = epoch; }
  // Joins a clock of the same core, or what another core published.
  void join_same(const Clock& other);
  void join_other(const KnowledgeRef& published);
  // The same where the argument is known to cover all that this clock knows of other cores.
  void follow_same(const Clock& later);
  void follow_other(const KnowledgeRef& later) { known_ = later; }
  // Has it learned anything of others since it was last settled? To settle is to say from which
  // epoch of its lane on that is part of what the lane passes on.
  bool has_learned() const { return learned_; }
  void settle(std::uint32_t epoch);
  // Everything this clock knows, own counters included. `epoch` of its lane, not 0: whoever knows
  // that epoch knows all of this.
  KnowledgeRef publish(std::uint32_t epoch = 0) const;
  // A number made of everything it knows: equal knowledge, equal number.
  std::uint64_t digest() const;
  bool same_home(const Clock& other) const {
    return agent_.rank == other.agent_.rank && agent_.core == other.agent_.core;
  }

 private:
  bool covers(const Clock& other) const;

  Agent agent_;
  std::array<std::uint32_t, kClockLanes> own_{};
  KnowledgeRef known_;
  // How much each lane of the core had learned from others when this clock heard of it. `known_` is
  // the union of just that, so clocks with equal counts know the same.
  std::array<std::uint32_t, kClockLanes> learned_by_{};
  std::uint32_t settled_ = 0;  // epoch of the lane that passes on all of `known_`
  bool learned_ = false;       // since then
};

}  // namespace tandem::check
