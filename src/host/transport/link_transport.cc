// SPDX-License-Identifier: Apache-2.0
#include "host/transport/link_transport.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <thread>

#include "base/strings.h"
#include "host/host_rank.h"
#include "host/reports/rank_name.h"
#include "host/transport/limits.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

using std::chrono::milliseconds;

// Short enough that a loss is known before most waits end; long enough for a busy machine, where a
// thread has been seen to wait 33 ms for a processor, and for a machine that swaps.
constexpr milliseconds kSilenceMin{2000};
constexpr milliseconds kSilenceMax{10000};

// For the answers of peers to a rank that ends because of a failure: whoever is sound answers at
// once. A process may have to leave several worlds before its launcher loses patience.
constexpr milliseconds kFailedPatience{400};

// Neighbours are met as soon as both have joined; a machine may be slow, but the link does as well.
constexpr milliseconds kNeighbourPatience{5000};

// The own memory and door, and for each peer its memory and a visit.
std::int64_t neighbour_descriptors(int ranks) { return 2 * ranks + 2; }

SocketAddress root_of(const Seat& seat) {
  const auto address = parse_socket_address(seat.root);
  if (address) return *address;
  throw Error(ErrorKind::refused, cat("world: the root is '", seat.root,
                                      "'; give host:port of rank 0, such as node1:7000"));
}

}  // namespace

LinkTransport::LinkTransport(int ranks, const TransportOptions& options)
    : ranks_(ranks), seat_(options.seat.value_or(Seat{})), same_host_(options.same_host) {
  const bool seat = options.seat.has_value();
  if (!seat && ranks > 1) {
    // Each of the ranks will need as many or more.
    check_descriptors(cat("a world of ", ranks, " ranks"), LinkTransport::descriptors(ranks));
    root_listener_ = listen_on({"127.0.0.1", "0"});
    seat_.root = to_string(local_address(root_listener_));
  }
  if (seat && ranks > 1) root_of(seat_);
  // Private: after a fork each rank has its own.
  void* address = mmap(nullptr, sizeof(ControlArea), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    throw Error(ErrorKind::environment, "world: no memory for the control area; free some");
  }
  control_ = new (address) ControlArea();
}

LinkTransport::~LinkTransport() {
  link_.reset();
  munmap(control_, sizeof(ControlArea));
}

std::int64_t LinkTransport::all_descriptors(int ranks) const {
  const bool shares = same_host_ == SameHost::shared && ranks > 1;
  return descriptors(ranks) + (shares ? neighbour_descriptors(ranks) : 0);
}

Link* LinkTransport::join(int rank, milliseconds timeout) {
  if (link_ != nullptr) return link_.get();
  rank_ = rank;
  std::string lacking;
  try {
    check_descriptors(cat("rank ", rank, " of ", ranks_), all_descriptors(ranks_));
  } catch (const Error& error) {
    lacking = error.what();
  }
  try {
    meet_peers(rank, timeout, lacking);
  } catch (const Error& error) {
    // Not even a connection could be made to say it.
    if (std::string_view(error.what()).find(lacking) == std::string_view::npos) {
      throw Error(ErrorKind::environment, lacking);
    }
    if (exit_code(error.kind()) == exit_code(ErrorKind::lost_rank)) look_at_whole();
    throw;
  }
  return link_.get();
}

void LinkTransport::look_at_whole() {
  const auto end = Clock::now() + kFailedPatience;
  while (whole_ != nullptr && Clock::now() < end) {
    whole_->check_poison();
    std::this_thread::sleep_for(milliseconds(20));
  }
}

void LinkTransport::meet_peers(int rank, milliseconds timeout, const std::string& lacking) {
  const bool shares = same_host_ == SameHost::shared && ranks_ > 1 && lacking.empty();
  if (shares) neighbours_ = std::make_unique<Neighbours>(rank, control_->ranks[rank]);
  const JoinOptions options{
      .rank = rank,
      .ranks = ranks_,
      .job = seat_.job,
      .root = ranks_ > 1 ? root_of(seat_) : SocketAddress{},
      .deadline = Clock::now() + timeout,
      .silence_limit = std::clamp(timeout, kSilenceMin, kSilenceMax),
      .check = whole_ == nullptr ? std::function<void()>() : [this] { whole_->check_poison(); },
      .group = group_};
  RendezvousSpec spec{.rank = rank,
                      .ranks = ranks_,
                      .job = seat_.job,
                      .root = options.root,
                      .timeout = timeout,
                      .door = shares ? neighbours_->door() : "",
                      .contact = {},
                      .check = options.check,
                      .group = group_};
  spec.contact = [&](const Socket& local) {
    own_host_ = rank == 0 ? options.root.host : local_address(local).host;
    // Said at the rendezvous: the others need not wait for this rank.
    if (!lacking.empty()) throw Error(ErrorKind::environment, lacking);
    return make_contact(options, local);
  };
  Socket listener = std::move(root_listener_);
  if (rank != 0) listener.close();
  Rendezvous met = meet_members(spec, std::move(listener));
  LinkOptions made{.rank = rank,
                   .members = met.members,
                   .group = group_,
                   .silence_limit = options.silence_limit};
  const std::vector<Member> members = met.members;
  link_ = std::make_unique<Link>(*control_, windows_, make_streams(options, std::move(met)),
                                 std::move(made));
  // Now that the link watches over the peers: nobody waits here for one that is lost.
  if (shares) meet_neighbours(options, members);
}

void LinkTransport::meet_neighbours(const JoinOptions& options,
                                    const std::vector<Member>& members) {
  const auto deadline = std::min(options.deadline, Clock::now() + kNeighbourPatience);
  neighbours_->meet(members, deadline, [this] { return control_->poison.load() != 0; });
  if (neighbours_->any()) windows_.lie_in(neighbours_->own(), sizeof(RankArea));
}

RankArea* LinkTransport::area_of(int rank) {
  if (rank == rank_) return &control_->ranks[rank];
  return neighbours_ == nullptr ? nullptr : neighbours_->area_of(rank);
}

void LinkTransport::leave(int, const std::string& failure) {
  if (link_ == nullptr) return;
  if (failure.empty()) return link_->leave();
  link_->abort(failure);
  link_->leave(kFailedPatience);
}

std::unique_ptr<Transport> LinkTransport::make_group(HostRank& rank,
                                                     const std::vector<int>& members) {
  const auto place = std::ranges::find(members, rank.rank());
  Seat seat{.rank = static_cast<int>(place - members.begin()), .root = "", .job = seat_.job};
  Socket listener;
  std::string told;
  const int size = static_cast<int>(members.size());
  try {
    if (place != members.end()) check_descriptors(cat("a group of ", size), all_descriptors(size));
    if (seat.rank == 0) {
      listener = listen_on({rank.rank() == 0 ? "" : own_host_, "0"});
      told = to_string(SocketAddress{own_host_, local_address(listener).port});
    }
  } catch (const Error& error) {
    told = cat('!', rank.name(rank.rank()), ": ", error.what());
  }
  std::string lacking;
  const auto texts = rank.exchange("the making of a group", told);
  for (const std::string& text : texts) {
    if (text.starts_with('!')) lacking += (lacking.empty() ? "" : "\n") + text.substr(1);
  }
  if (!lacking.empty()) throw Error(ErrorKind::environment, lacking);
  if (place == members.end()) return nullptr;
  seat.root = texts[members[0]];
  auto made = make_transport(name(), size, {.seat = seat, .same_host = same_host_});
  auto& group = static_cast<LinkTransport&>(*made);
  group.root_listener_ = std::move(listener);
  group.whole_ = &rank;
  group.group_ = whole_ranks(group_, members);
  return made;
}

std::byte* LinkTransport::map(int owner, const WindowRange& range) {
  if (neighbours_ == nullptr || owner == rank_) return windows_.address_of(range);
  return neighbours_->map(owner, range.offset, range.bytes);
}

void LinkTransport::unmap(int owner, std::byte* address, const WindowRange& range) {
  if (neighbours_ != nullptr && owner != rank_ && range.bytes > 0) munmap(address, range.bytes);
}

}  // namespace tandem::host
