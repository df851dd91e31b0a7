// SPDX-License-Identifier: Apache-2.0
#include "comm/registry.h"

#include "base/check.h"

namespace tandem {
namespace {

// Writes the own chunk for `peer` into its window.
void put(VectorCore& core, const CommPlan& plan, int peer, int round) {
  const View source = local_view(plan, core.rank(), peer, round);
  if (source.bytes() == 0) return;
  core.channel(peer).write_nbi(window_view(plan, peer, core.rank(), round), source);
}

// Reads the chunk that `peer` keeps for this rank out of its window.
void get(VectorCore& core, const CommPlan& plan, int peer, int round) {
  const View destination = local_view(plan, core.rank(), peer, round);
  if (destination.bytes() == 0) return;
  core.channel(peer).read_nbi(destination, window_view(plan, peer, core.rank(), round));
}

constexpr HookEntry kHooks[] = {
    {Hook::all_to_all_put, put},
    {Hook::all_to_all_get, get},
    {Hook::all_gather_put, put},
    {Hook::all_gather_get, get},
};

}  // namespace

std::span<const HookEntry> all_hooks() { return kHooks; }

const HookEntry& find_hook(Hook hook) {
  for (const HookEntry& entry : kHooks) {
    if (entry.hook == hook) return entry;
  }
  TANDEM_CHECK(false, "hook is not registered");
}

}  // namespace tandem
