// SPDX-License-Identifier: Apache-2.0
// Events, flags and sync_all of the machine, where they take effect.
#include <algorithm>

#include "base/strings.h"
#include "sim/entities.h"
#include "sim/machine.h"
#include "sim/timed.h"

namespace tandem::sim {

void Machine::deliver_event(SimCore& core, int key, const Token& token) {
  if (timed_ != nullptr && timed_->postpones_event(core, key, token)) return;
  if (!core.events.emplace(key, token).second) {
    violation(FindingCode::event_double_set, core, token.site,
              cat("event ", to_string(static_cast<EventKind>(key / 16)), "(", key % 16, ")"),
              "it was set before and nobody waited in between");
  }
  for (int lane = 1; lane < kLanes; ++lane) touch(core.index * kLaneSlots + lane);
}

void Machine::deliver_flag(SimCore& to, int id, Token token) {
  if (timed_ != nullptr && timed_->postpones_flag(to, id, token)) return;
  const int counter = id & 15;
  const bool reserved = counter >= 11 && counter <= 14;
  if (id != counter) {
    violation(FindingCode::flag_range, *cores_[token.core], token.site, cat("flag ", id),
              cat("the device cuts ids to four bits: this is flag ", counter));
  }
  if (reserved && !token.sync) {
    violation(FindingCode::flag_reserved, *cores_[token.core], token.site, cat("flag ", counter),
              "flags 11 to 14 belong to sync_all; use 0 to 10 or 15");
  }
  to.protocols[counter] |= token.sync ? 2 : 1;
  if (to.protocols[counter] == 3) {
    violation(FindingCode::flag_alias, *cores_[token.core], token.site, cat("flag ", counter),
              "the kernel and sync_all count on one counter");
    to.protocols[counter] |= 4;  // said once
  }
  to.flags[counter].push_back(token);
  if (to.flags[counter].size() == 16) {
    violation(FindingCode::flag_overflow, *cores_[token.core], token.site, cat("flag ", counter),
              cat(to.name(), " has 16 untaken counts; the counter ends at 15"));
  }
  for (int lane = 0; lane < kLanes; ++lane) touch(to.index * kLaneSlots + lane);
}

void Machine::release_sync(int rank, bool vector) {
  auto& members = syncs_[rank * 2 + (vector ? 1 : 0)];
  if (std::ranges::any_of(members, [](const auto& sets) { return sets.empty(); })) return;
  Token whole = members[0].front();
  whole.id = next_token_++;
  whole.shares = blocks();
  for (auto& sets : members) {
    tell([&](Observer& observer) { observer.merge(whole, sets.front()); });
    sets.pop_front();
  }
  for (int block = 0; block < blocks(); ++block) {
    deliver_flag(core_of(rank, block, vector), vector ? 14 : 11, whole);
  }
}

}  // namespace tandem::sim
