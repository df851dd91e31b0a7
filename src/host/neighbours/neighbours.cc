// SPDX-License-Identifier: Apache-2.0
#include "host/neighbours/neighbours.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/strings.h"
#include "host/net/message.h"
#include "machine/core.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSlice{20};
constexpr std::int64_t kAreaBytes = sizeof(RankArea);
constexpr int kDoorBytes = 16;  // drawn at random: no two doors of a machine have one name

// What goes with the descriptor.
struct Greeting {
  char magic[sizeof kMagic];
  std::int32_t rank;
  char door[2 * kDoorBytes];  // the sender's own, as it told at the rendezvous
};

std::string random_name() {
  unsigned char bytes[kDoorBytes];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return "";
  std::string name;
  for (const unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    name += digits;
  }
  return name;
}

// Abstract: the name is none of a file, and goes with the socket.
socklen_t make_address(const std::string& door, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::string name = "tandem-" + door;
  if (name.size() + 1 > sizeof address.sun_path) return 0;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

Socket make_socket() {
  return Socket(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// A message of one part and room for one descriptor.
struct Envelope {
  explicit Envelope(Greeting& greeting) : part{&greeting, sizeof greeting} {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
  }
  iovec part;
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
};

// Anybody of this machine may knock; memory of another user is not for us.
bool is_own_user(const Socket& socket) {
  ucred from{};
  socklen_t bytes = sizeof from;
  return getsockopt(socket.file(), SOL_SOCKET, SO_PEERCRED, &from, &bytes) == 0 &&
         from.uid == geteuid();
}

}  // namespace

Neighbours::Neighbours(int rank, RankArea& area) : rank_(rank), area_(area) {
  own_ = MemoryFile::make();
  const bool moved =
      own_.open() && own_.allocate(0, kAreaBytes) == 0 && own_.map_at(&area_, 0, kAreaBytes);
  if (!moved || !listen()) door_.clear();
}

Neighbours::~Neighbours() {
  for (const Peer& peer : peers_) {
    if (peer.area != nullptr && peer.area != &area_) munmap(peer.area, kAreaBytes);
  }
}

bool Neighbours::listen() {
  door_ = random_name();
  sockaddr_un address;
  const socklen_t bytes = make_address(door_, address);
  listener_ = make_socket();
  return !door_.empty() && bytes > 0 && listener_.open() &&
         bind(listener_.file(), reinterpret_cast<sockaddr*>(&address), bytes) == 0 &&
         ::listen(listener_.file(), kRanksMax) == 0;
}

bool Neighbours::any() const {
  return std::ranges::any_of(
      peers_, [this](const Peer& peer) { return peer.area != nullptr && peer.area != &area_; });
}

bool Neighbours::hand_over(const Member& peer) {
  sockaddr_un address;
  const socklen_t bytes = make_address(peer.door, address);
  Socket socket = make_socket();
  if (bytes == 0 || !socket.open() ||
      connect(socket.file(), reinterpret_cast<sockaddr*>(&address), bytes) != 0) {
    return false;
  }
  Greeting greeting{};
  std::memcpy(greeting.magic, kMagic, sizeof kMagic);
  greeting.rank = rank_;
  std::memcpy(greeting.door, door_.data(), std::min(door_.size(), sizeof greeting.door));
  Envelope envelope(greeting);
  cmsghdr* head = CMSG_FIRSTHDR(&envelope.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  const int file = own_.file();
  std::memcpy(CMSG_DATA(head), &file, sizeof file);
  if (sendmsg(socket.file(), &envelope.message, MSG_NOSIGNAL) < 0) return false;
  visited_.push_back(std::move(socket));
  return true;
}

bool Neighbours::take_from(const Socket& visitor, const std::vector<Member>& members) {
  Greeting greeting{};
  Envelope envelope(greeting);
  const ssize_t bytes = recvmsg(visitor.file(), &envelope.message, MSG_CMSG_CLOEXEC);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  Socket received;
  const cmsghdr* head = CMSG_FIRSTHDR(&envelope.message);
  if (head != nullptr && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
    int file = -1;
    std::memcpy(&file, CMSG_DATA(head), sizeof file);
    received = Socket(file);
  }
  const bool whole = bytes == sizeof greeting &&
                     std::memcmp(greeting.magic, kMagic, sizeof kMagic) == 0 &&
                     greeting.rank >= 0 && greeting.rank < static_cast<int>(members.size());
  if (!whole || !is_own_user(visitor)) return true;
  if (members[greeting.rank].door != std::string(greeting.door, sizeof greeting.door)) return true;
  peers_[greeting.rank].came = true;  // also without a descriptor, where there was no room for one
  if (received.open()) keep(greeting.rank, MemoryFile(std::move(received)));
  return true;
}

void Neighbours::keep(int rank, MemoryFile file) {
  Peer& peer = peers_[rank];
  if (!file.open() || file.bytes() < kAreaBytes || peer.area != nullptr) return;
  peer.area = reinterpret_cast<RankArea*>(file.map(0, kAreaBytes));
  peer.file = std::move(file);
}

void Neighbours::meet(const std::vector<Member>& members, Clock::time_point deadline,
                      const std::function<bool()>& is_over) {
  peers_.resize(members.size());
  peers_[rank_].area = &area_;
  if (door_.empty()) return;
  std::vector<int> awaited;
  for (int peer = 0; peer < static_cast<int>(members.size()); ++peer) {
    if (peer == rank_ || members[peer].door.empty()) continue;
    // All doors were there before the rendezvous: who has none here never comes here either.
    if (hand_over(members[peer])) awaited.push_back(peer);
  }
  std::vector<Socket> visitors;
  while (true) {
    std::erase_if(awaited, [this](int peer) { return peers_[peer].came; });
    if (awaited.empty() || Clock::now() >= deadline || is_over()) break;
    std::vector<pollfd> polls{{listener_.file(), POLLIN, 0}};
    for (const Socket& visitor : visitors) polls.push_back({visitor.file(), POLLIN, 0});
    poll(polls.data(), polls.size(), static_cast<int>(kSlice.count()));
    while (true) {
      Socket visitor(accept4(listener_.file(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!visitor.open()) break;
      visitors.push_back(std::move(visitor));
    }
    std::erase_if(visitors, [&](const Socket& visitor) { return take_from(visitor, members); });
  }
  listener_.close();
  visited_.clear();
}

std::byte* Neighbours::map(int owner, std::int64_t offset, std::int64_t bytes) const {
  if (bytes == 0) return nullptr;
  std::byte* address = peers_[owner].file.map(offset, bytes);
  if (address != nullptr) return address;
  throw Error(ErrorKind::environment,
              cat("window of rank ", owner, " (", bytes, " bytes): ", std::strerror(errno),
                  "; free memory, raise the limits (ulimit) or use a smaller shape"));
}

}  // namespace tandem::host
