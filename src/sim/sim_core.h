// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "machine/core.h"

namespace tandem::sim {

class Machine;
struct SimCore;

// The verbs of one simulated core: they turn calls into queued operations.
std::unique_ptr<Core> make_sim_core(Machine& machine, SimCore& state);

}  // namespace tandem::sim
