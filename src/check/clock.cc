// SPDX-License-Identifier: Apache-2.0
#include "check/clock.h"

#include <algorithm>

namespace tandem::check {
namespace {

Reference<Leaf> join(const Reference<Leaf>& a, const Reference<Leaf>& b) {
  if (a == b || !b) return a;
  if (!a) return b;
  bool keep_a = true;
  bool keep_b = true;
  for (std::size_t i = 0; i < a->epochs.size(); ++i) {
    keep_a = keep_a && a->epochs[i] >= b->epochs[i];
    keep_b = keep_b && b->epochs[i] >= a->epochs[i];
  }
  if (keep_a) return a;
  if (keep_b) return b;
  Reference<Leaf> joined(new Leaf());
  for (std::size_t i = 0; i < a->epochs.size(); ++i) {
    joined->epochs[i] = std::max(a->epochs[i], b->epochs[i]);
  }
  return joined;
}

Reference<RankKnowledge> join(const Reference<RankKnowledge>& a, const Reference<RankKnowledge>& b);

// Joins two arrays of children; returns a or b themselves where one covers the other, and makes a
// node only where neither does.
template <typename Node, typename Children>
Reference<Node> join_nodes(const Reference<Node>& a, const Reference<Node>& b,
                           Children Node::*children) {
  if (a == b || !b) return a;
  if (!a) return b;
  const Children& left = (*a).*children;
  const Children& right = (*b).*children;
  const std::size_t count = std::max(left.size(), right.size());
  const typename Children::value_type nothing;
  bool keep_a = left.size() == count;
  bool keep_b = right.size() == count;
  Reference<Node> node;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& x = i < left.size() ? left[i] : nothing;
    const auto& y = i < right.size() ? right[i] : nothing;
    if (x == y) continue;
    auto both = join(x, y);
    const bool is_x = both == x;
    const bool is_y = both == y;
    if (node) {
      ((*node).*children)[i] = std::move(both);
    } else if (!(keep_a && is_x) && !(keep_b && is_y)) {
      node = Reference<Node>(new Node());
      Children& merged = (*node).*children;
      merged = left;
      merged.resize(count);
      if (!keep_a) std::copy_n(right.begin(), std::min(i, right.size()), merged.begin());
      merged[i] = std::move(both);
    }
    keep_a = keep_a && is_x;
    keep_b = keep_b && is_y;
  }
  if (node) return node;
  return keep_a ? a : b;
}

Reference<RankKnowledge> join(const Reference<RankKnowledge>& a,
                              const Reference<RankKnowledge>& b) {
  return join_nodes(a, b, &RankKnowledge::groups);
}

const std::uint32_t* find(const KnowledgeRef& known, int rank, int core) {
  if (!known || rank >= static_cast<int>(known->ranks.size())) return nullptr;
  const auto& in_rank = known->ranks[rank];
  const int group = core / kGroupCores;
  if (!in_rank || group >= static_cast<int>(in_rank->groups.size())) return nullptr;
  const auto& leaf = in_rank->groups[group];
  return leaf ? leaf->epochs.data() + core % kGroupCores * kClockLanes : nullptr;
}

// Is `other` in there for sure? Whoever knows the epoch at which it was published knows it.
bool covers(const KnowledgeRef& known, const KnowledgeRef& other) {
  if (!other || known == other) return true;
  if (!known || other->epoch == 0) return false;
  const std::uint32_t* lanes = find(known, other->publisher.rank, other->publisher.core);
  return lanes != nullptr && lanes[other->publisher.lane] >= other->epoch;
}

}  // namespace

KnowledgeRef join(const KnowledgeRef& a, const KnowledgeRef& b) {
  if (covers(a, b)) return a;
  if (covers(b, a)) return b;
  return join_nodes(a, b, &Knowledge::ranks);
}

std::uint64_t Leaf::digest() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    std::uint64_t x = (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15u ^ epochs[i];
    x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9u;
    if (epochs[i] != 0) sum += x ^ (x >> 29);
  }
  return sum;
}

std::uint64_t Clock::digest() const {
  const KnowledgeRef all = publish();
  std::uint64_t sum = 0;
  for (std::size_t rank = 0; rank < all->ranks.size(); ++rank) {
    if (!all->ranks[rank]) continue;
    const auto& groups = all->ranks[rank]->groups;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      if (groups[group]) sum += groups[group]->digest() * (2 * (rank * 4096 + group) + 1);
    }
  }
  return sum;
}

bool knows(const KnowledgeRef& known, const Agent& agent, std::uint32_t epoch) {
  const std::uint32_t* lanes = find(known, agent.rank, agent.core);
  return lanes != nullptr && lanes[agent.lane] >= epoch;
}

bool Clock::knows(const Agent& agent, std::uint32_t epoch) const {
  if (agent.rank == agent_.rank && agent.core == agent_.core) return own_[agent.lane] >= epoch;
  return check::knows(known_, agent, epoch);
}

bool Clock::covers(const Clock& other) const {
  bool all = true;
  for (int lane = 0; lane < kClockLanes; ++lane) {
    all &= learned_by_[lane] >= other.learned_by_[lane];
  }
  return all;
}

void Clock::join_same(const Clock& other) {
  for (int lane = 0; lane < kClockLanes; ++lane)
    own_[lane] = std::max(own_[lane], other.own_[lane]);
  if (covers(other)) return;
  known_ = other.covers(*this) ? other.known_ : join(known_, other.known_);
  for (int lane = 0; lane < kClockLanes; ++lane) {
    learned_by_[lane] = std::max(learned_by_[lane], other.learned_by_[lane]);
  }
  learned_ = true;
}

void Clock::follow_same(const Clock& later) {
  for (int lane = 0; lane < kClockLanes; ++lane)
    own_[lane] = std::max(own_[lane], later.own_[lane]);
  known_ = later.known_;
  learned_by_ = later.learned_by_;
}

void Clock::join_other(const KnowledgeRef& published) {
  if (!published || (published->epoch > 0 && knows(published->publisher, published->epoch))) return;
  const std::uint32_t* lanes = find(published, agent_.rank, agent_.core);
  const bool covered = lanes != nullptr && !learned_ && lanes[agent_.lane] >= settled_;
  KnowledgeRef both = covered ? published : join(known_, published);
  if (!(both == known_)) {
    known_ = std::move(both);
    ++learned_by_[agent_.lane];
    learned_ = true;
  }
  if (lanes == nullptr) return;
  for (int lane = 0; lane < kClockLanes; ++lane) own_[lane] = std::max(own_[lane], lanes[lane]);
}

void Clock::settle(std::uint32_t epoch) {
  if (!learned_) return;
  settled_ = epoch;
  learned_ = false;
}

KnowledgeRef Clock::publish(std::uint32_t epoch) const {
  const std::uint32_t* lanes = find(known_, agent_.rank, agent_.core);
  if (lanes != nullptr && std::equal(own_.begin(), own_.end(), lanes)) return known_;
  KnowledgeRef root(new Knowledge());
  if (known_) root->ranks = known_->ranks;
  root->publisher = agent_;
  root->epoch = epoch;
  const auto rank = static_cast<std::size_t>(agent_.rank);
  if (root->ranks.size() <= rank) root->ranks.resize(rank + 1);
  Reference<RankKnowledge> in_rank(new RankKnowledge());
  if (root->ranks[rank]) in_rank->groups = root->ranks[rank]->groups;
  const auto group = static_cast<std::size_t>(agent_.core / kGroupCores);
  if (in_rank->groups.size() <= group) in_rank->groups.resize(group + 1);
  Reference<Leaf> leaf(new Leaf());
  if (in_rank->groups[group]) leaf->epochs = in_rank->groups[group]->epochs;
  std::ranges::copy(own_, leaf->epochs.begin() + agent_.core % kGroupCores * kClockLanes);
  in_rank->groups[group] = std::move(leaf);
  root->ranks[rank] = std::move(in_rank);
  return root;
}

}  // namespace tandem::check
