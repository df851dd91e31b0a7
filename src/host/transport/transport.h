// SPDX-License-Identifier: Apache-2.0
// How ranks reach each other's memory. One object per world, made before the ranks start; each
// rank calls it with its own number.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/control_area.h"
#include "tandem/world.h"

namespace tandem::host {

// A part of a rank's window memory.
struct WindowRange {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

class HostRank;
class Link;

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  virtual int ranks() const = 0;
  // The words that ranks share, or, where they share no memory, this rank's own and what its peers
  // have told it.
  virtual ControlArea& control() = 0;
  // Of a group: its members as ranks of the whole world, in order. Else empty.
  virtual std::span<const int> group() const { return {}; }

  // Collective where ranks share no memory: finds the peers. Returns the way to them, also to those
  // whose memory can be mapped, or null where that of all can, and always could. Again: the same.
  // Throws what meet_members() throws.
  virtual Link* join(int rank, std::chrono::milliseconds timeout);
  // Once it has joined: the words in which a rank sleeps and hears, the own ones or those of a peer
  // whose memory can be mapped here; null for others.
  virtual RankArea* area_of(int rank) { return &control().ranks[rank]; }
  // `rank` has ended: well, or with what it failed with. Peers that wait for it are told.
  virtual void leave(int rank, const std::string& failure);

  // Reserves zeroed window memory of `rank` that peers can map. Throws Error{environment} with
  // the bytes needed and why they can't be had.
  virtual WindowRange reserve(int rank, std::int64_t bytes) = 0;
  // The address, in this process, of a range that `owner` reserved: one that area_of() reaches.
  virtual std::byte* map(int owner, const WindowRange& range) = 0;
  virtual void unmap(int owner, std::byte* address, const WindowRange& range) = 0;
  // Gives the memory back; every rank has unmapped it.
  virtual void release(int rank, const WindowRange& range) = 0;

  // Collective over the ranks of this transport, with the same members on all: a transport of these
  // ranks alone, in this order, or null for a rank that is none of them. `rank` is the caller's
  // place in the whole, which outlives what is made. Members still have to join().
  virtual std::unique_ptr<Transport> make_group(HostRank& rank, const std::vector<int>& members);
};

// This process's place in a world whose ranks are started one by one.
struct Seat {
  int rank = 0;
  std::string root;  // host:port where rank 0 listens
  std::string job;   // ranks of other jobs are strangers
};

// What a transport is made for.
struct TransportOptions {
  std::optional<Seat> seat;  // without one the ranks are started by this process
  SameHost same_host = SameHost::linked;
};

enum class Reach { one_host, many_hosts };
enum class Built { yes, no };

struct TransportEntry {
  std::string_view name;
  std::string_view summary;
  Reach reach;
  Built built;  // no: make() throws Error{environment} with what to install
  std::unique_ptr<Transport> (*make)(int ranks, const TransportOptions& options);
};

std::span<const TransportEntry> all_transports();
// Throws Error{refused} with the names there are.
std::unique_ptr<Transport> make_transport(std::string_view name, int ranks,
                                          const TransportOptions& options = {});

}  // namespace tandem::host
