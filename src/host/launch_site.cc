// SPDX-License-Identifier: Apache-2.0
#include "host/launch_site.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/strings.h"
#include "gemm/float_state.h"
#include "host/link/link.h"
#include "host/worker.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

std::string describe_wait(const CoreState& core, HostRank& world) {
  const Wait& wait = core.wait;
  std::string what;
  std::string peer;
  switch (wait.kind) {
    case Wait::Kind::none:
    case Wait::Kind::pause:
    case Wait::Kind::turn:
    case Wait::Kind::until:
      return "";
    case Wait::Kind::flag:
      what = cat("flag ", wait.id, " of its block, expected set number ", wait.want, ", is 0");
      break;
    case Wait::Kind::epoch:
      what = wait.from_peer ? cat("the barrier word of ", world.name(wait.id), ", expected ",
                                  wait.want, ", is ", wait.word->load())
                            : cat("the barrier word of job ", wait.id, ", expected ", wait.want,
                                  ", is ", wait.word->load());
      if (wait.from_peer) peer = "; " + world.describe_peer(wait.id);
      break;
    case Wait::Kind::transfer:
      what = cat("its transfers, ", wait.want - wait.word->load(), " answers are missing");
      peer = "; " + world.describe_peer(wait.id);
      break;
    case Wait::Kind::sync:
      what = cat("sync_all number ", wait.want, " of its kind, ",
                 wait.sync->describe(core.kind, wait.want));
      peer = core.site.describe_missing(core.kind, *wait.sync, wait.want);
      break;
  }
  const auto waited =
      wait.since == Clock::time_point{} ? Clock::duration{0} : Clock::now() - wait.since;
  return cat(world.name(world.rank()), " ", core.kind, " ", core.block, ": waited ",
             std::chrono::duration_cast<std::chrono::milliseconds>(waited).count(), " ms for ",
             what, " (", wait.site.file, ":", wait.site.line, ")", peer);
}

}  // namespace

OnlyLaunch::OnlyLaunch(HostRank& rank) : rank_(rank) {
  if (rank_.begin_launch()) return;
  throw Error(ErrorKind::refused,
              cat("operator: on ", rank_.name(rank_.rank()),
                  " another thread is in a launch of the same world; give each thread a group of "
                  "its own"));
}

OnlyLaunch::~OnlyLaunch() { rank_.end_launch(); }

std::string LaunchSite::describe_missing(std::string_view kind, const SyncPoint& point,
                                         std::uint64_t meeting) {
  std::string text;
  for (int block = 0; block < launch_.blocks; ++block) {
    if (point.reached[block].load(std::memory_order_relaxed) >= meeting) continue;
    const CoreState& core =
        &point == &vector_sync_ ? vectors_[block]->state() : cubes_[block]->state();
    const int rank = core.awaited_rank.load(std::memory_order_relaxed);
    if (rank >= 0) text += cat("; ", kind, ' ', block, " waits for ", rank_.describe_peer(rank));
  }
  return text;
}

void SyncPoint::reset() {
  arrived = 0;
  generation = 0;
  for (auto& meeting : reached) meeting = 0;
}

std::string SyncPoint::describe(std::string_view kind, std::uint64_t meeting) const {
  std::string missing;
  std::size_t there = 0;
  for (std::size_t block = 0; block < reached.size(); ++block) {
    if (reached[block].load(std::memory_order_relaxed) >= meeting) {
      ++there;
    } else {
      missing += cat(missing.empty() ? "" : ", ", kind, ' ', block);
    }
  }
  // The last one may have come between the time-out and this report.
  if (missing.empty()) return cat(there, " of ", there, " cores are there");
  const bool one = there + 1 == reached.size();
  return cat(there, " of ", reached.size(), " cores are there, ", missing,
             one ? " is missing" : " are missing");
}

LaunchSite::LaunchSite(HostRank& rank, WorkerPool& pool, Launch launch, Windows windows)
    : rank_(rank),
      pool_(pool),
      launch_(std::move(launch)),
      windows_(std::move(windows)),
      cube_sync_(launch_.blocks),
      vector_sync_(launch_.blocks) {
  by_worker_.resize(pool_.workers());
  for (int worker = 0; worker < pool_.workers(); ++worker) {
    caches_.push_back(std::make_unique<RowCache>());
  }
  for (int block = 0; block < launch_.blocks; ++block) {
    cubes_.push_back(std::make_unique<HostCube>(*this, rank_.rank(), block));
    vectors_.push_back(std::make_unique<HostVector>(*this, rank_.rank(), block));
    cubes_.back()->pair_with(vectors_.back()->state());
    vectors_.back()->pair_with(cubes_.back()->state());
  }
  for (auto& core : vectors_) by_worker_[worker_of(core->block())].push_back(&core->state());
  for (auto& core : cubes_) by_worker_[worker_of(core->block())].push_back(&core->state());
}

LaunchSite::~LaunchSite() = default;

void LaunchSite::run_core(CoreState& state, const std::function<void()>& body) {
  state.wait = {};
  state.awaited_rank = -1;
  state.syncs = 0;
  state.taken = {};
  state.fiber.start([this, &state, body] {
    try {
      body();
      for (int id = 0; id < static_cast<int>(state.flags.size()); ++id) {
        TANDEM_CHECK(state.flags[id] == 0, cat(state.kind, " ", state.block, " ended with ",
                                               state.flags[id], " untaken counts of flag ", id));
      }
    } catch (const std::exception& error) {
      state.flags.fill(0);
      fail(std::current_exception(), error.what());
    }
  });
}

void LaunchSite::start_fibers() {
  for (auto& core : vectors_) {
    core->begin_launch();
    run_core(core->state(), [this, &core] { launch_.vector(*core); });
  }
  for (auto& core : cubes_) {
    core->begin_launch();
    run_core(core->state(), [this, &core] { launch_.cube(*core); });
  }
}

std::byte* LaunchSite::window_address(Buffer buffer) const {
  const BufferExtent& extent = launch_.extents[static_cast<std::size_t>(buffer)];
  return windows_.addresses[rank_.rank()] + extent.window_offset;
}

void LaunchSite::fill_window() const {
  for (int i = 0; i < kBufferCount; ++i) {
    const BufferExtent& extent = launch_.extents[i];
    const std::byte* from = bindings_.local[i];
    if (!extent.in_window || from == nullptr || extent.bytes == 0) continue;
    std::byte* to = window_address(static_cast<Buffer>(i));
    if (from != to) std::memcpy(to, from, static_cast<std::size_t>(extent.bytes));
  }
}

void LaunchSite::run(const Bindings& bindings) {
  bindings_ = bindings;
  fill_window();
  epoch_base_ = rank_.begin_epochs(launch_.epochs);
  cancelled_ = false;
  failure_ = nullptr;
  for (SyncPoint* point : {&cube_sync_, &vector_sync_}) point->reset();
  for (auto& cache : caches_) cache->owner = nullptr;
  const gemm::FloatState state;  // fibres inherit it
  start_fibers();
  pool_.run([this](int worker) {
    const gemm::FloatState worker_state;
    run_worker(*this, worker);
  });
  if (!failure_) return;
  // The caller may free its buffers now.
  if (rank_.link() != nullptr) rank_.link()->drop_memory();
  std::rethrow_exception(failure_);
}

std::byte* LaunchSite::resolve(const View& view) const {
  const auto index = static_cast<std::size_t>(view.buffer);
  const BufferExtent& extent = launch_.extents[index];
  // Operands of other ranks may be larger than the own one; they end within the window.
  const bool others = extent.in_window && view.rank != rank_.rank();
  const std::int64_t bytes =
      others ? windows_.ranges[view.rank].bytes - extent.window_offset : extent.bytes;
  TANDEM_CHECK(view.offset >= 0 && view.end() <= bytes,
               cat("view ", to_string(view), " leaves its buffer of ", bytes, " bytes"));
  if (is_in_window(launch_.extents, view.buffer)) {
    std::byte* address = windows_.addresses[view.rank];
    TANDEM_CHECK(address != nullptr || rank_.area_of(view.rank) != nullptr,
                 cat("view ", to_string(view), " of memory that is not mapped"));
    return address + extent.window_offset + view.offset;
  }
  TANDEM_CHECK(view.rank == rank_.rank(), cat("view ", to_string(view), " of a peer's own memory"));
  return bindings_.local[index] + view.offset;
}

RemoteRows LaunchSite::locate(const View& view) const {
  const BufferExtent& extent = launch_.extents[static_cast<std::size_t>(view.buffer)];
  TANDEM_CHECK(is_in_window(launch_.extents, view.buffer),
               cat("view ", to_string(view), " of a peer's own memory"));
  TANDEM_CHECK(view.offset >= 0 && view.end() <= extent.bytes,
               cat("view ", to_string(view), " leaves its buffer of ", extent.bytes, " bytes"));
  return {windows_.ranges[view.rank].offset + extent.window_offset + view.offset, view.rows,
          view.row_bytes, view.pitch};
}

void LaunchSite::fail(std::exception_ptr error, const std::string& report) {
  {
    std::lock_guard lock(failure_mutex_);
    if (failure_) return;
    failure_ = error;
    cancelled_ = true;
  }
  rank_.poison(report);
}

std::string LaunchSite::describe_waits(int worker, const CoreState* culprit) {
  // The states of other workers' cores change while they are read here; a report of a moment that
  // never was would mislead, so only the own worker's cores are described.
  std::string text = culprit != nullptr ? describe_wait(*culprit, rank_) : "";
  for (CoreState* core : by_worker_[worker]) {
    if (core == culprit || core->fiber.finished()) continue;
    const std::string line = describe_wait(*core, rank_);
    if (!line.empty()) text += (text.empty() ? "" : "\n  ") + line;
  }
  return text;
}

}  // namespace tandem::host
