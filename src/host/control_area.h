// SPDX-License-Identifier: Apache-2.0
// The words that the ranks of one host share beside their windows: barrier slots, bells, states.
// Zeroed memory is a valid area; its layout depends on no shape and no job count.
#pragma once

#include <atomic>
#include <cstdint>

#include "host/futex.h"
#include "machine/core.h"

namespace tandem::host {

inline constexpr std::size_t kTextBytes = 8192;

// A word of its own cache line: neighbours are written by other ranks.
struct alignas(64) EpochWord {
  std::atomic<std::uint64_t> value;
};

enum class RankState : std::uint32_t { absent, running, finished, failed, dead };

// Of whole pages, so that it can lie in memory that neighbours map.
struct alignas(4096) RankArea {
  // Every event that this rank may wait for rings its bell; whoever sleeps on it is counted.
  alignas(64) std::atomic<std::uint32_t> bell;
  alignas(64) std::atomic<std::uint32_t> sleepers;
  alignas(64) std::atomic<RankState> state;
  std::atomic<std::int32_t> pid;
  alignas(64) std::atomic<std::uint64_t> meetings;  // host-side barriers reached
  EpochWord arrived[kRanksMax];                     // by the peer that stored
  EpochWord core[kRanksMax];                        // by the job that stored
  char text[kTextBytes];                            // what the rank tells the others at a meeting
  std::atomic<std::uint32_t> report_bytes;
  char report[kTextBytes];  // why it failed
};

struct ControlArea {
  std::atomic<std::uint32_t> poison;  // 0, or 1 + the rank that failed first
  RankArea ranks[kRanksMax];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Wakes whoever sleeps on the bell. Pairs with the order "count myself as a sleeper, then let the
// kernel compare the bell": both sides are sequentially consistent, so one of them sees the other.
inline void ring(RankArea& area) {
  area.bell.fetch_add(1);
  if (area.sleepers.load() > 0) futex_wake_all(area.bell);
}

// Sleeps until the bell rings again after it was read as `seen`, or until the limit.
inline void sleep_on(RankArea& area, std::uint32_t seen, std::chrono::nanoseconds limit) {
  area.sleepers.fetch_add(1);
  futex_wait(area.bell, seen, limit);
  area.sleepers.fetch_sub(1);
}

}  // namespace tandem::host
