// SPDX-License-Identifier: Apache-2.0
// The machine that a world plans for: its workers, and how fast its links are.
#pragma once

#include "base/device.h"
#include "tandem/problem.h"

namespace tandem {

class World;
struct WorldOptions;

// The slowest link's, the same on all ranks. 0: all ranks share memory.
struct LinkFigures {
  std::int64_t mb_s = 0;        // of a rank to its right neighbour, while all send
  std::int64_t latency_ns = 0;  // from a write with a word until the target has seen it
};

// Collective at its first call in a world, which takes some 10 ms; the figures are kept.
const LinkFigures& link_figures(World& world);

// Collective at its first call in a world: can each rank address the memory of all others?
bool all_share_memory(World& world);

// What is known of the host before `ranks` ranks have met.
Device device_before(const WorldOptions& world, int ranks);

// Collective: the host with the fewest workers of all ranks and, where the problem leaves the
// count of rounds open, the costs of the links.
Device device_of(World& world, const Problem& problem);

}  // namespace tandem
