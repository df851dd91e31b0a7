// SPDX-License-Identifier: Apache-2.0
// The two kinds of core on CPU workers: queues are executed at issue, so events and pipe barriers
// have nothing to do; flags are counters of the block, waits suspend the core's fibre.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fiber.h"
#include "gemm/tile_product.h"
#include "host/host_rank.h"
#include "machine/core.h"
#include "machine/launch.h"

namespace tandem::host {

class LaunchSite;
struct SyncPoint;

// Why a fibre is suspended.
struct Wait {
  enum class Kind { none, pause, turn, until, flag, epoch, sync, transfer } kind = Kind::none;
  const int* flag = nullptr;                         // flag: ready when > 0
  const std::atomic<std::uint64_t>* word = nullptr;  // the others: ready when it is `want`
                                                     // or more
  std::uint64_t want = 0;
  const SyncPoint* sync = nullptr;  // sync: where the cores meet
  int id = 0;                       // flag id, peer or job of an epoch, peer of a transfer
  bool from_peer = false;           // an epoch stored by another rank
  Site site;
  Clock::time_point until{};  // until: ready from then on
  Clock::time_point since{};  // set when a worker first finds it waiting

  bool ready() const;
};

// The part that both kinds share: the fibre, its wait and the flags it consumes.
struct CoreState {
  CoreState(LaunchSite& owner, std::string_view kind_name, int block_index)
      : site(owner), kind(kind_name), block(block_index) {}

  void set_flag(CoreState& consumer, FlagId id);
  void take_flag(FlagId id, Site where);
  // Meets the other cores of its kind.
  void meet(SyncPoint& point, Site where);
  // Suspends until `wait` is ready; throws when the launch was cancelled.
  void suspend_until(const Wait& wait);

  LaunchSite& site;
  std::string_view kind;
  int block;
  Fiber fiber;
  Wait wait;
  // The rank whose word or answer it waits for, or -1: what other workers may look at.
  std::atomic<int> awaited_rank = -1;
  std::array<int, 16> flags{};  // counts that the paired core set
  std::array<int, 16> taken{};  // of these, taken in this launch
  // With products that sleep: when the last sixteen counts of each flag were set.
  std::array<std::array<Clock::time_point, 16>, 16> set_at{};
  std::uint64_t syncs = 0;      // sync_all calls so far
};

class HostCube final : public CubeCore {
 public:
  HostCube(LaunchSite& site, int rank, int block);
  CoreState& state() { return state_; }
  void begin_launch() { busy_until_ = Clock::now(); }
  void pair_with(CoreState& partner) { partner_ = &partner; }

  void set_flag(Pipe pipe, FlagId id, Site site) override;
  void wait_flag(FlagId id, Site site) override;
  void gate(Pipe pipe, FlagId id, Site site) override;
  void sync_all(Site site) override;
  void pipe_barrier(Pipe pipe, Site site) override;
  void set_event(EventKind kind, int id, Site site) override;
  void wait_event(EventKind kind, int id, Site site) override;
  void scalar(ScalarWork work, Site site) override;
  void load(int slot, std::span<const Fragment> a, WeightTile b, Site site) override;
  void matmul(int slot, int half, Accumulate accumulate, Site site) override;
  void store(int half, std::span<const View> c, StoreMode mode, std::optional<View> bias,
             Site site) override;
  void cache_hint(CacheHint hint, Site site) override;

 private:
  struct Loaded {
    std::vector<Fragment> a;
    WeightTile b;
  };
  struct Half {
    std::vector<float> sums;
    std::int64_t rows = 0;
    Slice columns;
  };
  void pack(const Loaded& loaded);
  void sleep_for(const Loaded& loaded, double ns_per_product, Site site);

  LaunchSite& site_;
  CoreState state_;
  CoreState* partner_ = nullptr;
  std::array<Loaded, 2> slots_;
  std::array<Half, 2> halves_;
  // With products that sleep: the end of the last one, or of what the next one had to wait for,
  // whenever this core came to look.
  Clock::time_point busy_until_{};
};

class HostVector final : public VectorCore {
 public:
  HostVector(LaunchSite& site, int rank, int block);
  CoreState& state() { return state_; }
  void pair_with(CoreState& partner) { partner_ = &partner; }
  // Tensors of another launch lay elsewhere.
  void begin_launch() {
    aliases_.clear();
    forget_pending();
  }

  void set_flag(Pipe pipe, FlagId id, Site site) override;
  void wait_flag(FlagId id, Site site) override;
  void gate(Pipe pipe, FlagId id, Site site) override;
  void sync_all(Site site) override;
  void pipe_barrier(Pipe pipe, Site site) override;
  void set_event(EventKind kind, int id, Site site) override;
  void wait_event(EventKind kind, int id, Site site) override;
  void scalar(ScalarWork work, Site site) override;
  Channel& channel(int peer) override;
  void load(UbTensor destination, View source, Site site) override;
  void accumulate(UbTensor sum, UbTensor wide, UbTensor source, Accumulate accumulate,
                  Site site) override;
  void convert(UbTensor destination, UbTensor sum, Site site) override;
  void store(View destination, UbTensor source, Site site) override;
  void store_epoch(int peer, EpochSlot slot, std::uint64_t value, Site site) override;
  void wait_epoch(EpochSlot slot, std::uint64_t value, Site site) override;

 private:
  // A UB tensor that was loaded is read where it lies: no copy that an address can replace.
  struct Alias {
    std::int64_t offset = -1;
    std::int64_t rows = 0;
    const std::byte* address = nullptr;
    std::int64_t pitch = 0;
    OutputType type = OutputType::bf16;
  };
  // A sum and its conversion are put off until the result is stored, which takes one pass over the
  // rows instead of one for each step; whatever may release the rows computes it before.
  struct PendingSum {
    UbTensor sum;
    std::vector<Alias> rows;  // in the order of summing; empty: nothing is pending
    bool converts = false;    // to `out`
    UbTensor out;
  };
  std::byte* ub(const UbTensor& tensor, std::int64_t row);
  const Alias& alias_of(std::int64_t offset) const;
  OutputType type_of(Buffer buffer) const;
  void accumulate_now(const UbTensor& sum, const UbTensor& source, Accumulate accumulate);
  void convert_now(const UbTensor& destination, const UbTensor& sum);
  void compute_pending();
  void store_pending(const View& destination);
  void gather_addresses(std::int64_t row);
  void forget_pending();

  LaunchSite& site_;
  CoreState state_;
  CoreState* partner_ = nullptr;
  std::vector<std::unique_ptr<Channel>> channels_;  // [peer], null for the own rank
  std::vector<std::byte> ub_;
  std::vector<Alias> aliases_;
  PendingSum pending_;
  std::vector<const void*> addresses_;
};

}  // namespace tandem::host
