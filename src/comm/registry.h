// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "machine/core.h"
#include "plan/comm_plan.h"

namespace tandem {

// How a hook posts the transfer of one round with one peer (never the own rank).
struct HookEntry {
  Hook hook;
  void (*commit)(VectorCore& core, const CommPlan& plan, int peer, int round);
};

std::span<const HookEntry> all_hooks();
const HookEntry& find_hook(Hook hook);

}  // namespace tandem
