// SPDX-License-Identifier: Apache-2.0
#include "host/host_core.h"

#include "base/check.h"
#include "base/strings.h"
#include "host/launch_site.h"
#include "tandem/error.h"

namespace tandem::host {

bool Wait::ready() const {
  switch (kind) {
    case Kind::none:
    case Kind::pause:
    case Kind::turn:
      return true;
    case Kind::until:
      return Clock::now() >= until;
    case Kind::flag:
      return *flag > 0;
    case Kind::epoch:
    case Kind::sync:
    case Kind::transfer:
      // Words wrap: the signed difference orders values less than 2^63 apart. Pairs with the
      // release of the store that brings the value.
      return static_cast<std::int64_t>(word->load(std::memory_order_acquire) - want) >= 0;
  }
  return false;
}

void CoreState::set_flag(CoreState& consumer, FlagId id) {
  const int index = id.value & 15;
  int& count = consumer.flags[index];
  if (site.rank().options().ns_per_product > 0) {
    consumer.set_at[index][(consumer.taken[index] + count) & 15] = Clock::now();
  }
  ++count;
  TANDEM_CHECK(count <= 15, cat("flag ", id.value, " of ", consumer.kind, " ", block,
                                " counts more than 15 untaken sets"));
}

void CoreState::take_flag(FlagId id, Site where) {
  int& count = flags[id.value & 15];
  if (count == 0) {
    Wait flag_wait;
    flag_wait.kind = Wait::Kind::flag;
    flag_wait.flag = &count;
    flag_wait.want = static_cast<std::uint64_t>(taken[id.value & 15]) + 1;
    flag_wait.id = id.value;
    flag_wait.site = where;
    suspend_until(flag_wait);
  }
  --count;
  ++taken[id.value & 15];
}

void CoreState::meet(SyncPoint& point, Site where) {
  const std::uint64_t target = ++syncs;
  point.reached[block].store(target, std::memory_order_relaxed);
  if (point.arrived.fetch_add(1) + 1 == site.launch().blocks) {
    point.arrived.store(0);
    point.generation.fetch_add(1);
    ring(site.rank().area());
    return;
  }
  Wait sync;
  sync.kind = Wait::Kind::sync;
  sync.word = &point.generation;
  sync.want = target;
  sync.sync = &point;
  sync.site = where;
  if (!sync.ready()) suspend_until(sync);
}

void CoreState::suspend_until(const Wait& new_wait) {
  wait = new_wait;
  const bool needs_peer =
      wait.kind == Wait::Kind::transfer || (wait.kind == Wait::Kind::epoch && wait.from_peer);
  awaited_rank.store(needs_peer ? wait.id : -1, std::memory_order_relaxed);
  do {
    fiber.suspend();
    if (site.cancelled()) throw Error(ErrorKind::cancelled, "another core failed");
  } while (!wait.ready());
  awaited_rank.store(-1, std::memory_order_relaxed);
  wait = {};
}

}  // namespace tandem::host
