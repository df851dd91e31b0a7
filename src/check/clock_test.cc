// SPDX-License-Identifier: Apache-2.0
// A clock knows exactly what a dense vector over all lanes of all cores would know.
#include "check/clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"

namespace tandem::check {
namespace {

constexpr int kRanks = 3;
constexpr int kCores = 10;  // of a rank: more than one group
constexpr int kLanes = 4;
constexpr int kAgents = kRanks * kCores * kLanes;

using Dense = std::vector<std::uint32_t>;

Agent agent_at(int index) {
  return {index / (kCores * kLanes), index / kLanes % kCores, index % kLanes};
}

void absorb(Dense& to, const Dense& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], from[i]);
}

// Clocks by the side of dense vectors.
class World {
 public:
  World() : clocks_(kAgents), dense_(kAgents, Dense(kAgents, 0)), epochs_(kAgents, 0) {
    for (int i = 0; i < kAgents; ++i) clocks_[i].bind(agent_at(i));
  }

  void advance(int agent) {
    const std::uint32_t epoch = ++epochs_[agent];
    clocks_[agent].set_own(agent_at(agent).lane, epoch);
    clocks_[agent].settle(epoch);
    dense_[agent][agent] = epoch;
  }
  void publish(int agent) {
    advance(agent);
    published_.push_back({clocks_[agent].publish(epochs_[agent]), dense_[agent]});
  }
  void receive(int agent, std::size_t message) {
    clocks_[agent].join_other(published_[message].first);
    absorb(dense_[agent], published_[message].second);
  }
  void listen(int agent, int sibling) {
    clocks_[agent].join_same(clocks_[sibling]);
    absorb(dense_[agent], dense_[sibling]);
  }
  void merge(std::size_t one, std::size_t other) {
    Dense both = published_[one].second;
    absorb(both, published_[other].second);
    published_.push_back({join(published_[one].first, published_[other].first), both});
  }
  std::size_t messages() const { return published_.size(); }

  void expect_equal(int agent) const {
    for (int other = 0; other < kAgents; ++other) {
      const std::uint32_t known = dense_[agent][other];
      if (known > 0) {
        ASSERT_TRUE(clocks_[agent].knows(agent_at(other), known)) << agent << " of " << other;
      }
      ASSERT_FALSE(clocks_[agent].knows(agent_at(other), known + 1)) << agent << " of " << other;
    }
  }
  std::uint64_t digest(int agent) const { return clocks_[agent].digest(); }
  const Dense& dense(int agent) const { return dense_[agent]; }

 private:
  std::vector<Clock> clocks_;
  std::vector<Dense> dense_;
  std::vector<std::uint32_t> epochs_;
  std::vector<std::pair<KnowledgeRef, Dense>> published_;
};

void step(World& world, Rng& rng) {
  const int agent = static_cast<int>(rng.below(kAgents));
  const std::size_t messages = world.messages();
  switch (rng.below(6)) {
    case 0:
      world.advance(agent);
      break;
    case 1:
      world.publish(agent);
      break;
    case 2: {
      const int sibling = agent / kLanes * kLanes + static_cast<int>(rng.below(kLanes));
      world.listen(agent, sibling);
      break;
    }
    case 3:
      if (messages > 0) {
        const std::size_t one = rng.below(messages);
        const std::size_t other = rng.below(messages);
        world.merge(one, other);
      }
      break;
    case 4:
    case 5:  // late messages and new ones
      if (messages > 0) {
        const std::size_t back = std::min<std::size_t>(messages, 1 + rng.below(40));
        world.receive(agent, messages - back);
      }
      break;
  }
  world.expect_equal(agent);
}

TEST(Clock, KnowsWhatADenseVectorKnows) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    World world;
    Rng rng(seed);
    for (int i = 0; i < 3000 && !testing::Test::HasFatalFailure(); ++i) step(world, rng);
    for (int agent = 0; agent < kAgents; ++agent) world.expect_equal(agent);
  }
}

TEST(Clock, DigestsAreEqualExactlyForEqualKnowledge) {
  World world;
  Rng rng(9);
  for (int i = 0; i < 2000; ++i) step(world, rng);
  for (int one = 0; one < kAgents; ++one) {
    for (int other = 0; other < one; ++other) {
      EXPECT_EQ(world.digest(one) == world.digest(other), world.dense(one) == world.dense(other))
          << one << " and " << other;
    }
  }
}

TEST(Clock, JoinIsIdempotentCommutativeAndAssociative) {
  World world;
  Rng rng(4);
  std::vector<Clock> clocks(3);
  for (int i = 0; i < 3; ++i) clocks[i].bind({i, 9 * i % kCores, 0});
  for (int round = 0; round < 200; ++round) {
    std::vector<KnowledgeRef> known;
    for (int i = 0; i < 3; ++i) {
      clocks[i].set_own(static_cast<int>(rng.below(3)), static_cast<std::uint32_t>(round + 1));
      known.push_back(clocks[i].publish());
      if (round % 3 == i) clocks[i].join_other(known[rng.below(known.size())]);
    }
    const auto digest = [](const KnowledgeRef& knowledge) {
      Clock clock;
      clock.bind({7, 0, 0});
      clock.join_other(knowledge);
      return clock.digest();
    };
    const auto& [a, b, c] = std::tie(known[0], known[1], known[2]);
    EXPECT_EQ(digest(join(a, a)), digest(a));
    EXPECT_EQ(digest(join(a, b)), digest(join(b, a)));
    EXPECT_EQ(digest(join(join(a, b), c)), digest(join(a, join(b, c))));
  }
}

}  // namespace
}  // namespace tandem::check
