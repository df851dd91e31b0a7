// SPDX-License-Identifier: Apache-2.0
// Bytes that move at the same time share what they pass through: max-min fair, exact. Flows with
// the same path and cap always have the same rate, so they are kept as one class, which counts what
// each of its members has received.
#pragma once

#include <cstdint>
#include <map>
#include <queue>
#include <span>
#include <vector>

#include "base/timeline.h"

namespace tandem::sim {

inline constexpr Picoseconds kNever = INT64_MAX;

class FlowNetwork {
 public:
  // How much of a resource one byte of a flow takes: 2 where it passes twice.
  struct Use {
    int resource = 0;
    double weight = 1;
    friend auto operator<=>(const Use&, const Use&) = default;
  };

  // Capacity in bytes per picosecond; 0: no limit.
  int add_resource(double capacity);
  // Flows over `path`, each at most `cap` bytes per picosecond (0: no limit). Equal calls give
  // equal numbers.
  int class_of(std::span<const Use> path, double cap);

  // Starts a flow; `user` comes back from finish(). Times never decrease from call to call.
  void start(int flow_class, double bytes, std::uint64_t user, Picoseconds now);
  // When the next flow ends, rates being what they are; kNever without flows.
  Picoseconds next(Picoseconds now);
  // Removes the flows that have ended by `now`: their users by class, then in order of their ends.
  void finish(Picoseconds now, std::vector<std::uint64_t>& users);

  // What passes through a resource, in bytes per picosecond, at the last call of next().
  double rate_through(int resource) const { return resources_[resource].used; }
  double rate_of(int flow_class) const { return classes_[flow_class].rate; }
  double capacity(int resource) const { return resources_[resource].capacity; }
  int resource_count() const { return static_cast<int>(resources_.size()); }
  int active() const { return active_flows_; }

 private:
  struct Member {
    double end = 0;  // of the class's `received`
    std::uint64_t order = 0;
    std::uint64_t user = 0;
    bool operator>(const Member& other) const {
      return end != other.end ? end > other.end : order > other.order;
    }
  };
  struct Class {
    std::vector<Use> path;
    double cap = 0;
    double rate = 0;
    double received = 0;  // by each member since the class was last empty
    Picoseconds updated = 0;
    bool listed = false;
    bool fixed = false;
    std::priority_queue<Member, std::vector<Member>, std::greater<>> members;
  };
  struct Resource {
    double capacity = 0;
    double used = 0;
    double left = 0;
    double weight = 0;
    bool touched = false;
    bool full = false;
  };

  void advance(Class& flows, Picoseconds now);
  void prepare();
  void share();
  double level();
  void fix(Class& flows, double rate);

  std::vector<Resource> resources_;
  std::vector<Class> classes_;
  std::map<std::pair<double, std::vector<Use>>, int> index_;
  std::vector<int> listed_;   // classes with members, in order of their first flow
  std::vector<int> touched_;  // resources that some flow passes
  std::uint64_t order_ = 0;
  int active_flows_ = 0;
  int unfixed_ = 0;
  bool changed_ = false;
};

}  // namespace tandem::sim
