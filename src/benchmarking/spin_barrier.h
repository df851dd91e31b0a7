// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "world_impl.h"

namespace tandem {

// Where ranks meet between timed launches: in memory that all of them share, without a sleep, so
// that they start within a microsecond of each other. Throws Error if a rank is lost.
class SpinBarrier {
 public:
  void meet(World& world) {
    const std::uint64_t ranks = static_cast<std::uint64_t>(world.size());
    const std::uint64_t ticket = arrived_.fetch_add(1) + 1;
    const std::uint64_t all = (ticket + ranks - 1) / ranks * ranks;
    for (std::uint64_t turn = 1; arrived_.load(std::memory_order_acquire) < all; ++turn) {
      if (turn % kTurnsToYield != 0) continue;
      sched_yield();
      if (turn % (kTurnsToYield * 256) == 0) world.impl().rank->check_poison();
    }
  }

 private:
  static constexpr std::uint64_t kTurnsToYield = 1024;
  alignas(64) std::atomic<std::uint64_t> arrived_ = 0;
};

}  // namespace tandem
