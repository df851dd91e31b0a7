// SPDX-License-Identifier: Apache-2.0
// Whether what connects the ranks keeps what the operators rely on, and how fast it is.
#pragma once

#include <string>
#include <vector>

#include "tandem/world.h"

namespace tandem {

struct TransportCheck {
  std::string name;         // "order", "visibility", "atomics", "progress", "latency", "bandwidth"
  std::string observation;  // what was seen, with its unit
  bool passed = false;
};

// Runs a world of these options (two ranks or more) and checks, between neighbours: that a
// notification comes behind its data; that what was drained is visible; that additions are atomic;
// that a transfer ends while its target computes. Measures half a round trip of 8 bytes and the
// bandwidth of 1 MiB writes. The same on every rank that is started one by one. Throws as
// World::spawn() does, and Error{refused} for fewer than two ranks, Error{lost_rank or timeout} if
// a rank fails.
std::vector<TransportCheck> check_transport(const WorldOptions& options);

}  // namespace tandem
