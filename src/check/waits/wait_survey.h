// SPDX-License-Identifier: Apache-2.0
// Who stands still and for whom, at the moment when nothing can go on.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/machine.h"

namespace tandem::check {

// One scalar stream or head of a pipe that cannot go on.
struct Wait {
  const sim::SimCore* core = nullptr;
  sim::Lane lane = sim::Lane::scalar;
  Site site;
  std::string_view verb;
  std::string what;       // it waits for, producers included
  std::set<int> edges;    // waits that would have to go on first
  bool hopeless = false;  // nobody that is left can end it
};

// What cores did before everything stood still.
struct WaitHistory {
  struct Core {
    std::array<int, 16> sets{};  // of the paired core's flags, in this launch
    int syncs = 0;               // sync_all entered in this launch
    Site sync_site;
  };
  std::vector<Core> cores;
  std::map<std::pair<int, int>, int> writers;  // rank, word → core that stored last
};

int word_of(EpochSlot slot);
// "cube" or "vector".
std::string kind_name(const sim::SimCore& core);
// "0-3, 5"
std::string ranges(const std::set<int>& numbers);

std::vector<Wait> survey_waits(const WaitHistory& history, sim::Machine& machine);

}  // namespace tandem::check
