// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/neighbours/neighbours.h"
#include "host/net/rendezvous.h"
#include "host/transport/own_windows.h"
#include "host/transport/transport.h"

namespace tandem::host {

// What all transports between hosts have in common: the rank's own control area and windows, the
// rendezvous, the link, the neighbours. One object serves one rank of its process.
class LinkTransport : public Transport {
 public:
  LinkTransport(int ranks, const TransportOptions& options);
  ~LinkTransport() override;

  int ranks() const override { return ranks_; }
  ControlArea& control() override { return *control_; }
  std::span<const int> group() const override { return group_; }
  Link* join(int rank, std::chrono::milliseconds timeout) override;
  RankArea* area_of(int rank) override;
  void leave(int rank, const std::string& failure) override;
  WindowRange reserve(int rank, std::int64_t bytes) override {
    return windows_.reserve(group_.empty() ? rank : group_[rank], bytes, spare_bytes());
  }
  std::byte* map(int owner, const WindowRange& range) override;
  void unmap(int owner, std::byte* address, const WindowRange& range) override;
  void release(int, const WindowRange& range) override { windows_.release(range); }
  // The members meet at a port of the first one, and have connections of their own.
  std::unique_ptr<Transport> make_group(HostRank& rank, const std::vector<int>& members) override;

 protected:
  // Of a world of so many ranks, or of a group of them. A connection to each peer, a listener, what
  // the streams wait with, a few for a moment.
  virtual std::int64_t descriptors(int ranks) const { return ranks + 8; }
  // Memory that the streams will want for themselves.
  virtual std::int64_t spare_bytes() const { return 0; }
  struct JoinOptions {
    int rank = 0;
    int ranks = 1;
    std::string job;
    SocketAddress root;
    Clock::time_point deadline;
    std::chrono::milliseconds silence_limit;
    std::function<void()> check;  // as RendezvousSpec has them
    std::vector<int> group;
  };
  // What the others need to reach this rank. `local` is an end by which rank 0 is reached.
  virtual std::string make_contact(const JoinOptions& options, const Socket& local) = 0;
  virtual std::unique_ptr<Streams> make_streams(const JoinOptions& options, Rendezvous met) = 0;

 private:
  // Those of neighbours included, where ranks may have some.
  std::int64_t all_descriptors(int ranks) const;
  void meet_neighbours(const JoinOptions& options, const std::vector<Member>& members);
  // `lacking`: why this rank can't be in, if it can't. The others are told.
  void meet_peers(int rank, std::chrono::milliseconds timeout, const std::string& lacking);
  // If the making of a group failed because its whole did: throws why. The whole may hear of a loss
  // a moment after a connection of the group has ended.
  void look_at_whole();

  int ranks_;
  int rank_ = 0;  // of this process, once it has joined
  Seat seat_;
  SameHost same_host_;
  // Of a group: what its whole is, and its members in the world that is part of no other.
  HostRank* whole_ = nullptr;
  std::vector<int> group_;
  Socket root_listener_;  // made before the others know of it, so that none can come too early
  std::string own_host_;  // by which the others reach this one
  ControlArea* control_ = nullptr;
  std::unique_ptr<Neighbours> neighbours_;  // if memory may be shared
  OwnWindows windows_;
  std::unique_ptr<Link> link_;
};

}  // namespace tandem::host
