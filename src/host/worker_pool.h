// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem::host {

// The worker threads of a rank. Worker 0 is the caller's thread.
class WorkerPool {
 public:
  explicit WorkerPool(int workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int workers() const { return static_cast<int>(threads_.size()) + 1; }
  // Runs work(0) … work(workers − 1) at once and returns when all have ended. It must not throw.
  void run(const std::function<void(int)>& work);

 private:
  void serve(int worker);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  const std::function<void(int)>* work_ = nullptr;
  std::uint64_t turn_ = 0;
  int busy_ = 0;
  bool stopping_ = false;
};

}  // namespace tandem::host
