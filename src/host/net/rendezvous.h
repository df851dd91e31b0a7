// SPDX-License-Identifier: Apache-2.0
// How ranks that share no memory find each other: rank 0 listens, all others connect to it and say
// who they are, and each one is told of all. Connections that say something else are dropped.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/net/socket.h"

namespace tandem::host {

// What a rank tells the others of itself.
struct Member {
  int pid = 0;
  std::string host;      // its name, for people
  std::string identity;  // equal exactly if two ranks see the same processes
  std::string door;      // of Neighbours; empty: it shares no memory
  std::string contact;   // what the transport needs to reach it
};

struct RendezvousSpec {
  int rank = 0;
  int ranks = 1;
  std::string job;     // ranks with another one are strangers
  SocketAddress root;  // where rank 0 listens
  std::chrono::milliseconds timeout{30000};
  std::string door;  // the own one, in Member
  // The own contact, made when a connection to the root (or the root's listener) is there.
  // Throws Error{environment} if this rank lacks something: all ranks that come are told.
  std::function<std::string(const Socket& local)> contact;
  // If given: called now and then while the others are waited for; throws if that is of no use.
  std::function<void()> check;
  std::vector<int> group;  // as Transport::group()
};

struct Rendezvous {
  std::vector<Member> members;  // [rank]
  // On rank 0 the connection to each rank, on the others the one to rank 0; the rest is closed.
  std::vector<Socket> sockets;
};

// Collective. `listener` is rank 0's own, if it was made before. Throws Error{timeout} that names
// the ranks that never came, Error{refused} if versions or counts of ranks differ, or one rank
// comes twice, Error{environment} if one lacks something; the same on all ranks that came.
Rendezvous meet_members(const RendezvousSpec& spec, Socket listener);

}  // namespace tandem::host
