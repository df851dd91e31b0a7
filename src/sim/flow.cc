// SPDX-License-Identifier: Apache-2.0
#include "sim/flow.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace tandem::sim {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr double kTie = 1 + 1e-12;  // levels that differ by rounding only are one level

}  // namespace

int FlowNetwork::add_resource(double capacity) {
  resources_.push_back({.capacity = capacity > 0 ? capacity : kUnlimited});
  return static_cast<int>(resources_.size()) - 1;
}

int FlowNetwork::class_of(std::span<const Use> path, double cap) {
  std::vector<Use> uses;
  bool limited = cap > 0;
  for (const Use& use : path) {
    if (use.weight <= 0 || resources_[use.resource].capacity == kUnlimited) continue;
    uses.push_back(use);
    limited = true;
  }
  TANDEM_CHECK(limited, "a flow without any limit takes no time and is none");
  std::ranges::sort(uses);
  const auto [found, fresh] = index_.emplace(std::pair{cap, uses}, classes_.size());
  if (fresh) {
    classes_.emplace_back();
    classes_.back().path = uses;
    classes_.back().cap = cap > 0 ? cap : kUnlimited;
  }
  return found->second;
}

void FlowNetwork::advance(Class& flows, Picoseconds now) {
  flows.received += flows.rate * static_cast<double>(now - flows.updated);
  flows.updated = now;
}

void FlowNetwork::start(int flow_class, double bytes, std::uint64_t user, Picoseconds now) {
  Class& flows = classes_[flow_class];
  if (flows.members.empty()) {
    flows.received = 0;
    flows.rate = 0;
    flows.updated = now;
    if (!flows.listed) listed_.push_back(flow_class);
    flows.listed = true;
  } else {
    advance(flows, now);
  }
  flows.members.push({flows.received + bytes, order_++, user});
  ++active_flows_;
  changed_ = true;
}

// The lowest rate at which a cap or a resource holds back a flow that is not fixed yet.
double FlowNetwork::level() {
  double lowest = kUnlimited;
  for (int index : touched_) {
    const Resource& resource = resources_[index];
    if (resource.weight > 0) lowest = std::min(lowest, resource.left / resource.weight);
  }
  for (int index : listed_) {
    if (!classes_[index].fixed) lowest = std::min(lowest, classes_[index].cap);
  }
  return std::max(lowest, 0.0);
}

void FlowNetwork::fix(Class& flows, double rate) {
  flows.rate = rate;
  flows.fixed = true;
  --unfixed_;
  const auto count = static_cast<double>(flows.members.size());
  for (const Use& use : flows.path) {
    Resource& resource = resources_[use.resource];
    resource.left -= rate * use.weight * count;
    resource.used += rate * use.weight * count;
    resource.weight -= use.weight * count;
    // What rounding leaves of an emptied sum would make a level of its own.
    if (resource.weight < 1e-9) resource.weight = 0;
  }
}

void FlowNetwork::prepare() {
  for (int index : touched_) {
    resources_[index].touched = false;
    resources_[index].used = 0;
  }
  touched_.clear();
  unfixed_ = 0;
  for (int index : listed_) {
    Class& flows = classes_[index];
    flows.fixed = false;
    ++unfixed_;
    for (const Use& use : flows.path) {
      Resource& resource = resources_[use.resource];
      if (!resource.touched) {
        touched_.push_back(use.resource);
        resource.touched = true;
        resource.left = resource.capacity;
        resource.weight = 0;
      }
      resource.weight += use.weight * static_cast<double>(flows.members.size());
    }
  }
}

// Progressive filling: raises all rates alike; whoever meets a limit stays there.
void FlowNetwork::share() {
  prepare();
  while (unfixed_ > 0) {
    const double rate = level();
    for (int index : touched_) {
      Resource& resource = resources_[index];
      resource.full =
          resource.weight > 0 && resource.left <= rate * resource.weight * kTie;
    }
    for (int index : listed_) {
      Class& flows = classes_[index];
      if (flows.fixed) continue;
      const bool held = std::ranges::any_of(
          flows.path, [&](const Use& use) { return resources_[use.resource].full; });
      if (held || flows.cap <= rate * kTie) fix(flows, std::min(rate, flows.cap));
    }
  }
}

Picoseconds FlowNetwork::next(Picoseconds now) {
  if (changed_) {
    for (int index : listed_) advance(classes_[index], now);
    std::erase_if(listed_, [&](int index) {
      const bool empty = classes_[index].members.empty();
      if (empty) classes_[index].listed = false;
      return empty;
    });
    share();
    changed_ = false;
  }
  Picoseconds first = kNever;
  for (int index : listed_) {
    const Class& flows = classes_[index];
    if (flows.members.empty()) continue;
    const double left = flows.members.top().end - flows.received;
    const double wait = std::ceil(std::max(left, 0.0) / flows.rate - 1e-3);
    if (wait > 9e18) continue;
    first = std::min(first, std::max(now, flows.updated + static_cast<Picoseconds>(wait)));
  }
  return first;
}

void FlowNetwork::finish(Picoseconds now, std::vector<std::uint64_t>& users) {
  for (int index : listed_) {
    Class& flows = classes_[index];
    if (flows.members.empty()) continue;
    const double received =
        flows.received + flows.rate * static_cast<double>(now - flows.updated);
    // Half a picosecond's worth: ends are rounded to picoseconds.
    const double reached = received + 0.5 * flows.rate;
    if (flows.members.top().end > reached) continue;
    advance(flows, now);
    while (!flows.members.empty() && flows.members.top().end <= reached) {
      users.push_back(flows.members.top().user);
      flows.members.pop();
      --active_flows_;
      changed_ = true;
    }
  }
}

}  // namespace tandem::sim
