// SPDX-License-Identifier: Apache-2.0
// What a timeline says: how busy the pipes were, who waited for what, which chain of causes the
// end hung on.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/timeline.h"

namespace tandem::sim {

// All cores of one kind on one rank: sums over them.
struct PipeUse {
  bool cube = false;
  std::string_view pipe;  // "channel": over all channels of the rank's cores
  Picoseconds busy = 0;
  std::array<Picoseconds, kCauses> waits{};
};

struct RankUse {
  std::vector<PipeUse> pipes;
  // Mean over the cube cores: nothing runs in a core that stands at a flag of its vector core and
  // has products left.
  Picoseconds waits_for_peers = 0;
  Picoseconds tail = 0;  // from the end of the last product to the end of the launch
};

// By rank.
std::vector<RankUse> use_of(const Timeline& timeline, int blocks);

// A stretch of time on the chain that leads from the start to the end.
struct PathStep {
  std::int64_t slice = -1;     // −1: latency between two slices
  Cause cause = Cause::start;  // why the slice began no earlier; of a latency: what it belongs to
  Picoseconds begin = 0;
  Picoseconds end = 0;
};

// From the start to the end of the run, without gaps.
std::vector<PathStep> critical_path(const Timeline& timeline);

// The path by kind of step, largest share first.
struct PathShare {
  std::string_view pipe;  // "latency" where nothing ran
  bool cube = false;
  std::string_view what;
  Site site;
  Picoseconds time = 0;
  int steps = 0;
};
std::vector<PathShare> path_shares(const Timeline& timeline, const std::vector<PathStep>& path);

}  // namespace tandem::sim
