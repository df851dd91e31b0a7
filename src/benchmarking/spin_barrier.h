// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>

#include "tandem/error.h"
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

// One in memory that a process shares with the ranks it forks.
class SharedBarrier {
 public:
  SharedBarrier() {
    void* memory = mmap(nullptr, sizeof(SpinBarrier), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw Error(ErrorKind::environment, "bench: no page of shared memory; free some");
    }
    barrier_ = new (memory) SpinBarrier;
  }
  ~SharedBarrier() { munmap(barrier_, sizeof(SpinBarrier)); }
  SharedBarrier(const SharedBarrier&) = delete;
  SharedBarrier& operator=(const SharedBarrier&) = delete;

  SpinBarrier& barrier() const { return *barrier_; }

 private:
  SpinBarrier* barrier_ = nullptr;
};

}  // namespace tandem
