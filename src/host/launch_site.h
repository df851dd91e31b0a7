// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/host_core.h"
#include "host/host_rank.h"
#include "host/link/frame.h"
#include "host/worker_pool.h"
#include "machine/launch.h"

namespace tandem::host {

// Where the local buffers of one launch are. What lies in the window is copied there if it is bound
// elsewhere; null: it is there.
struct Bindings {
  std::array<std::byte*, kBufferCount> local{};
  const gemm::PackedWeights* weights = nullptr;
};

// The words of a world belong to one launch: whoever holds this is the one. Throws Error{refused}
// while another thread of the rank holds it.
class OnlyLaunch {
 public:
  explicit OnlyLaunch(HostRank& rank);
  ~OnlyLaunch();
  OnlyLaunch(const OnlyLaunch&) = delete;
  OnlyLaunch& operator=(const OnlyLaunch&) = delete;

 private:
  HostRank& rank_;
};

// A point where all cores of one kind of the rank meet.
struct SyncPoint {
  explicit SyncPoint(int blocks) : reached(blocks) {}
  void reset();
  // "2 of 3 cores are there, vector 1 is missing", at the meeting with this number.
  std::string describe(std::string_view kind, std::uint64_t meeting) const;

  std::atomic<int> arrived = 0;
  std::atomic<std::uint64_t> generation = 0;
  std::vector<std::atomic<std::uint64_t>> reached;  // [block]: its last meeting, for reports
};

// Packed rows of A of a worker, and whose they are: tiles of one row block follow each other, so
// the rows are packed once for all columns.
struct RowCache {
  gemm::PackedRows rows;
  const HostCube* owner = nullptr;
  std::vector<Fragment> fragments;
};

// A kernel made ready to run on this rank again and again: cores, fibres, scratch memory.
class LaunchSite {
 public:
  LaunchSite(HostRank& rank, WorkerPool& pool, Launch launch, Windows windows);
  ~LaunchSite();

  // Runs one launch. All cores have ended when it returns; it rethrows the first failure.
  void run(const Bindings& bindings);
  // Where a buffer of this rank's window begins.
  std::byte* window_address(Buffer buffer) const;

  // For the cores.
  HostRank& rank() { return rank_; }
  const Launch& launch() const { return launch_; }
  const Bindings& bindings() const { return bindings_; }
  std::uint64_t epoch_base() const { return epoch_base_; }
  std::byte* resolve(const View& view) const;
  // Rows of a peer's window, for ranks that are connected by links.
  RemoteRows locate(const View& view) const;
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  SyncPoint& sync_point(bool vector) { return vector ? vector_sync_ : cube_sync_; }
  RowCache& row_cache(int block) { return *caches_[worker_of(block)]; }
  int worker_of(int block) const { return block % pool_.workers(); }

  // Keeps the first failure, cancels all cores of the rank and breaks the world for the others.
  void fail(std::exception_ptr error, const std::string& report);
  // One line per core of a worker that waits; the first is `culprit`, if given. Called by the
  // worker itself.
  std::string describe_waits(int worker, const CoreState* culprit);
  // Of the cores that are not at a meeting: the ranks that they wait for, if any.
  std::string describe_missing(std::string_view kind, const SyncPoint& point,
                               std::uint64_t meeting);
  std::span<CoreState* const> cores_of(int worker) const { return by_worker_[worker]; }

 private:
  void fill_window() const;
  void start_fibers();
  void run_core(CoreState& state, const std::function<void()>& body);

  HostRank& rank_;
  WorkerPool& pool_;
  Launch launch_;
  Windows windows_;
  Bindings bindings_;
  std::uint64_t epoch_base_ = 0;
  std::vector<std::unique_ptr<HostCube>> cubes_;
  std::vector<std::unique_ptr<HostVector>> vectors_;
  std::vector<std::vector<CoreState*>> by_worker_;  // vectors first, then cubes
  std::vector<std::unique_ptr<RowCache>> caches_;   // [worker]
  SyncPoint cube_sync_;
  SyncPoint vector_sync_;
  std::atomic<bool> cancelled_ = false;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace tandem::host
