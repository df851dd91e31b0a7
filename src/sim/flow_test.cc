// SPDX-License-Identifier: Apache-2.0
#include "sim/flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/rng.h"

namespace tandem::sim {
namespace {

using Use = FlowNetwork::Use;

int class_over(FlowNetwork& network, std::vector<Use> path, double cap = 0) {
  return network.class_of(path, cap);
}

// Runs until no flow is left; the end of each user.
std::map<std::uint64_t, Picoseconds> run(FlowNetwork& network, Picoseconds now = 0) {
  std::map<std::uint64_t, Picoseconds> ends;
  std::vector<std::uint64_t> users;
  for (Picoseconds next = network.next(now); next != kNever; next = network.next(next)) {
    users.clear();
    network.finish(next, users);
    for (std::uint64_t user : users) ends[user] = next;
  }
  return ends;
}

TEST(FlowNetwork, OneFlowTakesBytesOverCapacity) {
  FlowNetwork network;
  const int link = network.add_resource(0.25);
  network.start(class_over(network, {{link, 1}}), 1000, 7, 0);
  EXPECT_EQ(run(network), (std::map<std::uint64_t, Picoseconds>{{7, 4000}}));
}

TEST(FlowNetwork, ItsCapHoldsAFlowBackOnAnIdleResource) {
  FlowNetwork network;
  const int memory = network.add_resource(10);
  network.start(class_over(network, {{memory, 1}}, 0.5), 1000, 1, 0);
  EXPECT_EQ(run(network)[1], 2000);
}

TEST(FlowNetwork, TwoFlowsShareALinkEqually) {
  FlowNetwork network;
  const int link = network.add_resource(1);
  const int path = class_over(network, {{link, 1}});
  network.start(path, 1000, 1, 0);
  network.start(path, 1000, 2, 0);
  const auto ends = run(network);
  EXPECT_EQ(ends.at(1), 2000);
  EXPECT_EQ(ends.at(2), 2000);
}

TEST(FlowNetwork, ALateFlowTakesItsShareFromThenOn) {
  // 600 alone, then 400 at half the rate: 600 + 800. The late one: 800 at half, 200 alone.
  FlowNetwork network;
  const int link = network.add_resource(1);
  const int path = class_over(network, {{link, 1}});
  network.start(path, 1000, 1, 0);
  ASSERT_EQ(network.next(0), 1000);
  network.start(path, 600, 2, 600);
  std::map<std::uint64_t, Picoseconds> ends = run(network, 600);
  EXPECT_EQ(ends.at(1), 1400);
  EXPECT_EQ(ends.at(2), 1600);
}

TEST(FlowNetwork, WhatACappedFlowLeavesGoesToTheOthers) {
  FlowNetwork network;
  const int link = network.add_resource(1);
  network.start(class_over(network, {{link, 1}}, 0.2), 200, 1, 0);
  network.start(class_over(network, {{link, 1}}), 800, 2, 0);
  const auto ends = run(network);
  EXPECT_EQ(ends.at(1), 1000);
  EXPECT_EQ(ends.at(2), 1000);
}

TEST(FlowNetwork, AFlowMovesAtTheRateOfItsNarrowestResource) {
  // One of two flows over the wide resource also passes a narrow one; the other takes the rest.
  FlowNetwork network;
  const int wide = network.add_resource(1);
  const int narrow = network.add_resource(0.25);
  network.start(class_over(network, {{wide, 1}, {narrow, 1}}), 250, 1, 0);
  network.start(class_over(network, {{wide, 1}}), 750, 2, 0);
  const auto ends = run(network);
  EXPECT_EQ(ends.at(1), 1000);
  EXPECT_EQ(ends.at(2), 1000);
}

TEST(FlowNetwork, AWeightCountsForAsManyPasses) {
  FlowNetwork network;
  const int memory = network.add_resource(1);
  network.start(class_over(network, {{memory, 2}}), 500, 1, 0);
  EXPECT_EQ(run(network)[1], 1000);
}

TEST(FlowNetwork, ResourcesWithoutLimitHoldNobodyBack) {
  FlowNetwork network;
  const int open = network.add_resource(0);
  const int link = network.add_resource(0.5);
  network.start(class_over(network, {{open, 1}, {link, 1}}), 500, 1, 0);
  EXPECT_EQ(run(network)[1], 1000);
}

TEST(FlowNetwork, RatesAreMaxMinFair) {
  // Whoever could go faster is held by a full resource in which nobody else goes faster, or by its
  // cap; and no resource carries more than it can.
  Rng rng(20240901);
  for (int trial = 0; trial < 300; ++trial) {
    FlowNetwork network;
    const int resources = 2 + static_cast<int>(rng.below(6));
    std::vector<double> capacity;
    for (int i = 0; i < resources; ++i) {
      capacity.push_back(0.1 + static_cast<double>(rng.below(40)) / 10);
      network.add_resource(capacity.back());
    }
    struct Flow {
      std::vector<Use> path;
      double cap = 0;
      double bytes = 1e9;
      double rate = 0;
    };
    std::vector<Flow> flows(1 + rng.below(12));
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const auto first = static_cast<int>(rng.below(static_cast<std::uint64_t>(resources)));
      const auto second = static_cast<int>(rng.below(static_cast<std::uint64_t>(resources)));
      flows[i].path.push_back({first, 1});
      if (second != first) flows[i].path.push_back({second, 1});
      if (rng.below(3) == 0) flows[i].cap = 0.05 + static_cast<double>(rng.below(20)) / 10;
      // Ends tell the rates of the first moments: the smallest shows them for all, one by one.
      network.start(class_over(network, flows[i].path, flows[i].cap), flows[i].bytes, i, 0);
    }
    network.next(0);
    std::vector<double> used(resources, 0);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      flows[i].rate = network.rate_of(class_over(network, flows[i].path, flows[i].cap));
      for (const Use& use : flows[i].path) used[use.resource] += flows[i].rate;
    }
    for (int i = 0; i < resources; ++i) {
      ASSERT_LE(used[i], capacity[i] * (1 + 1e-9)) << trial;
      ASSERT_NEAR(used[i], network.rate_through(i), 1e-9 * (1 + used[i]));
    }
    for (const Flow& flow : flows) {
      bool held = flow.cap > 0 && flow.rate > flow.cap * (1 - 1e-9);
      for (const Use& use : flow.path) {
        if (used[use.resource] < capacity[use.resource] * (1 - 1e-9)) continue;
        const bool fastest = std::ranges::all_of(flows, [&](const Flow& other) {
          const bool shares = std::ranges::any_of(
              other.path, [&](const Use& its) { return its.resource == use.resource; });
          return !shares || other.rate <= flow.rate * (1 + 1e-9);
        });
        held = held || fastest;
      }
      ASSERT_TRUE(held) << "trial " << trial << " rate " << flow.rate;
    }
  }
}

TEST(FlowNetwork, EveryByteArrivesHoweverFlowsComeAndGo) {
  // With one resource of capacity 1 that is never idle, the last end is the sum of all bytes.
  Rng rng(5);
  FlowNetwork network;
  const int link = network.add_resource(1);
  const int wide = class_over(network, {{link, 1}});
  const int capped = class_over(network, {{link, 1}}, 0.9);
  double bytes = 5'000'000;
  network.start(wide, bytes, 1000, 0);
  Picoseconds now = 0;
  std::vector<std::uint64_t> users;
  int started = 0;
  while (true) {
    const Picoseconds next = network.next(now);
    if (started < 400) {
      now = std::min(next, now + static_cast<Picoseconds>(rng.below(4000)));
      const double more = 1 + static_cast<double>(rng.below(3000));
      network.finish(now, users);
      network.start(rng.below(2) == 0 ? wide : capped, more, started++, now);
      bytes += more;
      continue;
    }
    if (next == kNever) break;
    now = next;
    network.finish(now, users);
  }
  EXPECT_EQ(users.size(), 401u);
  EXPECT_NEAR(static_cast<double>(now), bytes, 410);  // each end is rounded to a picosecond
  EXPECT_EQ(network.active(), 0);
}

}  // namespace
}  // namespace tandem::sim
