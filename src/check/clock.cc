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

Reference<RankKnowledge> join(const Reference<RankKnowledge>& a,
                              const Reference<RankKnowledge>& b);

// Joins two arrays of children; returns a or b themselves where one covers the other.
template <typename Node, typename Children>
Reference<Node> join_nodes(const Reference<Node>& a, const Reference<Node>& b,
                           Children Node::*children) {
  if (a == b || !b) return a;
  if (!a) return b;
  const Children& left = (*a).*children;
  const Children& right = (*b).*children;
  Children merged(std::max(left.size(), right.size()));
  bool keep_a = left.size() == merged.size();
  bool keep_b = right.size() == merged.size();
  for (std::size_t i = 0; i < merged.size(); ++i) {
    typename Children::value_type x, y;
    if (i < left.size()) x = left[i];
    if (i < right.size()) y = right[i];
    merged[i] = join(x, y);
    keep_a = keep_a && merged[i] == x;
    keep_b = keep_b && merged[i] == y;
  }
  if (keep_a) return a;
  if (keep_b) return b;
  Reference<Node> node(new Node());
  (*node).*children = std::move(merged);
  return node;
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

}  // namespace

KnowledgeRef join(const KnowledgeRef& a, const KnowledgeRef& b) {
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
  if (agent.rank == rank_ && agent.core == core_) return own_[agent.lane] >= epoch;
  return check::knows(known_, agent, epoch);
}

void Clock::join_same(const Clock& other) {
  for (int lane = 0; lane < kClockLanes; ++lane) own_[lane] = std::max(own_[lane], other.own_[lane]);
  known_ = join(known_, other.known_);
}

void Clock::join_other(const KnowledgeRef& published) {
  known_ = join(known_, published);
  if (const std::uint32_t* lanes = find(published, rank_, core_)) {
    for (int lane = 0; lane < kClockLanes; ++lane) own_[lane] = std::max(own_[lane], lanes[lane]);
  }
}

KnowledgeRef Clock::publish() const {
  const std::uint32_t* lanes = find(known_, rank_, core_);
  if (lanes != nullptr && std::equal(own_.begin(), own_.end(), lanes)) return known_;
  KnowledgeRef root(new Knowledge());
  if (known_) root->ranks = known_->ranks;
  if (root->ranks.size() <= static_cast<std::size_t>(rank_)) root->ranks.resize(rank_ + 1);
  Reference<RankKnowledge> in_rank(new RankKnowledge());
  if (root->ranks[rank_]) in_rank->groups = root->ranks[rank_]->groups;
  const int group = core_ / kGroupCores;
  if (in_rank->groups.size() <= static_cast<std::size_t>(group)) in_rank->groups.resize(group + 1);
  Reference<Leaf> leaf(new Leaf());
  if (in_rank->groups[group]) leaf->epochs = in_rank->groups[group]->epochs;
  std::ranges::copy(own_, leaf->epochs.begin() + core_ % kGroupCores * kClockLanes);
  in_rank->groups[group] = std::move(leaf);
  root->ranks[rank_] = std::move(in_rank);
  return root;
}

}  // namespace tandem::check
