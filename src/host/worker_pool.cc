// SPDX-License-Identifier: Apache-2.0
#include "host/worker_pool.h"

namespace tandem::host {

WorkerPool::WorkerPool(int workers) {
  for (int worker = 1; worker < workers; ++worker) {
    threads_.emplace_back([this, worker] { serve(worker); });
  }
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::run(const std::function<void(int)>& work) {
  if (!threads_.empty()) {
    std::lock_guard lock(mutex_);
    work_ = &work;
    busy_ = static_cast<int>(threads_.size());
    ++turn_;
  }
  start_.notify_all();
  work(0);
  if (threads_.empty()) return;
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void WorkerPool::serve(int worker) {
  std::uint64_t seen = 0;
  while (true) {
    const std::function<void(int)>* work = nullptr;
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stopping_ || turn_ != seen; });
      if (stopping_) return;
      seen = turn_;
      work = work_;
    }
    (*work)(worker);
    {
      std::lock_guard lock(mutex_);
      --busy_;
    }
    done_.notify_one();
  }
}

}  // namespace tandem::host
