// SPDX-License-Identifier: Apache-2.0
// Ranks that were started one by one, and whose memory can be mapped all the same: they share a
// host. Which ones do is found by trying. Each listens at a door, a socket without a file whose
// random name it tells at the rendezvous; a door opens only to processes of the same network
// namespace. Through it the others hand over the descriptor of their memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/control_area.h"
#include "host/neighbours/memory_file.h"
#include "host/net/rendezvous.h"
#include "host/net/socket.h"

namespace tandem::host {

class Neighbours {
 public:
  // `area` is the rank's own, and nobody uses it yet: it moves to memory that can be shared. Where
  // this machine has no such memory the rank shares nothing.
  Neighbours(int rank, RankArea& area);
  ~Neighbours();
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  // The name that the others need; empty if the rank shares nothing.
  const std::string& door() const { return door_; }
  // Once, by all ranks whose doors have names: hands the own memory over and takes that of others,
  // until all is there that may come, the deadline passes or `is_over`. Who gets nothing talks over
  // the link, also if the peer got its own part.
  void meet(const std::vector<Member>& members, Clock::time_point deadline,
            const std::function<bool()>& is_over);

  // Whether memory came from any peer.
  bool any() const;
  // The own words, or those of a neighbour; null: no neighbour.
  RankArea* area_of(int rank) { return peers_.empty() ? nullptr : peers_[rank].area; }
  // The own memory; windows begin behind the words.
  MemoryFile& own() { return own_; }
  // Throws Error{environment}.
  std::byte* map(int owner, std::int64_t offset, std::int64_t bytes) const;

 private:
  struct Peer {
    MemoryFile file;
    RankArea* area = nullptr;
    bool came = false;
  };
  bool listen();
  // Connections stay open until meet() ends. False: the peer has no door here.
  bool hand_over(const Member& peer);
  // False: nothing has come yet.
  bool take_from(const Socket& visitor, const std::vector<Member>& members);
  void keep(int rank, MemoryFile file);

  int rank_;
  RankArea& area_;
  MemoryFile own_;
  std::string door_;
  Socket listener_;
  std::vector<Socket> visited_;
  std::vector<Peer> peers_;  // [rank]
};

}  // namespace tandem::host
