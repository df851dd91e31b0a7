// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/transport/transport.h"

namespace tandem::host {

struct HostOptions {
  int workers = 1;                  // threads of this rank that run blocks
  bool oversubscribed = false;      // more workers than processors on this host: never spin
  std::int64_t timeout_ms = 30000;  // of every wait
  std::uint64_t epoch_start = 0;    // barrier words start here (tests of wrap-around)
  // Above 0: cube cores stand for an accelerator. They form no products; each multiply-add takes
  // so long, and the worker goes on meanwhile. C then means nothing.
  double ns_per_product = 0;
};

// The windows of all ranks, as this rank sees them.
struct Windows {
  std::vector<WindowRange> ranges;    // [owner]
  std::vector<std::byte*> addresses;  // [owner]; null where a peer's memory is not mapped
};

// Marks the world as broken by `rank`, with the reason, and wakes everybody. The first rank to
// break it is the one that the others report.
void break_world(ControlArea& control, int ranks, int rank, RankState state,
                 const std::string& report);

// One rank's place in the world: meetings of all ranks outside kernels, window memory, failures.
class HostRank {
 public:
  // `whole` is this process's place in the world that a group was made of: the group is broken with
  // it, and not the other way round.
  HostRank(Transport& transport, int rank, const HostOptions& options, HostRank* whole = nullptr);
  ~HostRank();
  HostRank(const HostRank&) = delete;
  HostRank& operator=(const HostRank&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return transport_.ranks(); }
  const HostOptions& options() const { return options_; }
  // Between launches.
  void set_ns_per_product(double ns) { options_.ns_per_product = ns; }
  Transport& transport() { return transport_; }
  ControlArea& control() { return control_; }
  // The way to peers whose memory is not mapped, and what all say beside their work; null where all
  // ranks share memory from the start.
  Link* link() { return link_; }
  RankArea& area() { return control_.ranks[rank_]; }
  // The words of a rank whose memory is mapped, or null.
  RankArea* area_of(int rank) { return areas_[rank]; }
  bool maps_all() const;

  // All ranks meet; `purpose` stands in the report if one never comes.
  void meet(std::string_view purpose);
  // Every rank tells a text of at most kTextBytes − 1 bytes and learns all of them.
  std::vector<std::string> exchange(std::string_view purpose, const std::string& text);
  // Collective: window memory of `bytes` on this rank. If one rank can't have it, all throw the
  // same Error{environment}.
  Windows allocate_windows(std::int64_t bytes);
  void free_windows(const Windows& windows);

  // One launch at a time: false if another thread is in one.
  bool begin_launch() { return !launching_.exchange(true); }
  void end_launch() { launching_.store(false); }
  // The first epoch of the next launch, which uses values 1 … epochs above it.
  std::uint64_t begin_epochs(std::uint64_t epochs);

  // break_world() by this rank.
  void poison(const std::string& report);
  // Throws Error{cancelled or lost_rank} if another rank broke the world.
  void check_poison();
  bool is_broken();
  // What check_poison() would say, if anything.
  std::string why_broken();
  // "rank 2", or whatever name_rank() makes of it.
  std::string name(int rank, std::string_view more = {}) const;
  // "rank 2 (pid 4711) is dead", "… is stopped", "… is running".
  std::string describe_peer(int peer);
  // One line for each peer that is not running and that the report does not name yet.
  std::string describe_others(const std::string& report);
  // The same where no kernel runs: bytes to and from a window, over whatever connects the ranks.
  // Both return when the bytes are there. Throws as a meeting does.
  void write_window(const Windows& windows, int owner, std::int64_t offset, const void* from,
                    std::int64_t bytes);
  void read_window(const Windows& windows, int owner, std::int64_t offset, void* to,
                   std::int64_t bytes);

 private:
  void check_memory(std::int64_t bytes);
  void await_flush(int peer);
  std::string state_of(int peer);
  // `text`: what the peers are told by it, if anything.
  void meet_with(std::string_view purpose, const std::string* text);
  void report_missing(std::string_view purpose, std::uint64_t meeting);
  // Throws if a peer has ended without coming: nobody need wait for the deadline.
  void check_ended(std::string_view purpose, std::uint64_t meeting);

  Transport& transport_;
  ControlArea& control_;
  int rank_;
  HostOptions options_;
  HostRank* whole_;
  Link* link_;
  std::vector<RankArea*> areas_;  // [rank]
  std::uint64_t epochs_;
  std::atomic<bool> launching_ = false;
};

}  // namespace tandem::host
