// SPDX-License-Identifier: Apache-2.0
#include "host/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

namespace tandem::host {
namespace {

TEST(WorkerPool, RunsEveryWorkerOnceAndTheFirstOnTheCallersThread) {
  for (int workers : {1, 2, 5}) {
    WorkerPool pool(workers);
    EXPECT_EQ(pool.workers(), workers);
    std::mutex mutex;
    std::multiset<int> seen;
    std::thread::id first;
    pool.run([&](int worker) {
      std::lock_guard lock(mutex);
      seen.insert(worker);
      if (worker == 0) first = std::this_thread::get_id();
    });
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(workers));
    for (int worker = 0; worker < workers; ++worker) EXPECT_EQ(seen.count(worker), 1u);
    EXPECT_EQ(first, std::this_thread::get_id());
  }
}

TEST(WorkerPool, WorkersRunAtTheSameTime) {
  WorkerPool pool(3);
  std::atomic<int> here = 0;
  pool.run([&](int) {
    here.fetch_add(1);
    while (here.load() < 3) std::this_thread::yield();  // hangs if they ran one after the other
  });
  EXPECT_EQ(here.load(), 3);
}

TEST(WorkerPool, ReturnsWhenAllHaveEnded) {
  WorkerPool pool(4);
  for (int turn = 0; turn < 500; ++turn) {
    int ended[4] = {};  // plain: the pool itself must order them
    pool.run([&](int worker) { ended[worker] = turn + 1; });
    for (int value : ended) ASSERT_EQ(value, turn + 1);
  }
}

TEST(WorkerPool, EndsWithoutEverHavingRun) {
  for (int turn = 0; turn < 50; ++turn) WorkerPool pool(3);
}

}  // namespace
}  // namespace tandem::host
