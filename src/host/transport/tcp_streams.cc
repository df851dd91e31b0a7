// SPDX-License-Identifier: Apache-2.0
#include "host/transport/tcp_streams.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/strings.h"
#include "host/net/send_window.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

constexpr std::uint64_t kKick = ~std::uint64_t{0};
// A quarter of the time that a bounded connection's bytes are on their way.
constexpr std::chrono::milliseconds kHeldNap{1};

class TcpStreams final : public Streams {
 public:
  explicit TcpStreams(std::vector<Socket> sockets)
      : sockets_(std::move(sockets)),
        full_(sockets_.size(), false),
        windows_(sockets_.size()),
        why_(sockets_.size()),
        poll_(epoll_create1(EPOLL_CLOEXEC)),
        kick_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!poll_.open() || !kick_.open()) {
      throw Error(ErrorKind::environment,
                  cat("tcp: no descriptor: ", std::strerror(errno), "; raise ulimit -n"));
    }
    watch(EPOLL_CTL_ADD, kick_.file(), EPOLLIN, kKick);
    for (std::size_t peer = 0; peer < sockets_.size(); ++peer) {
      if (sockets_[peer].open()) watch(EPOLL_CTL_ADD, sockets_[peer].file(), EPOLLIN, peer);
    }
  }

  std::int64_t send(int peer, std::span<const iovec> pieces) override {
    const std::int64_t room = windows_[peer].room(sockets_[peer], Clock::now());
    held_ = held_ || room == 0;
    if (room == 0) return 0;
    if (windows_[peer].bounded()) pieces = first_bytes(pieces, room);
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces.data());
    message.msg_iovlen = pieces.size();
    while (true) {
      const ssize_t bytes = sendmsg(sockets_[peer].file(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (bytes >= 0) {
        set_full(peer, false);
        return bytes;
      }
      if (errno == EINTR) continue;
      if (errno == EAGAIN) {
        set_full(peer, true);
        return 0;
      }
      return ended(peer, std::strerror(errno));
    }
  }

  std::int64_t receive(int peer, std::span<const iovec> pieces) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces.data());
    message.msg_iovlen = pieces.size();
    while (true) {
      const ssize_t bytes = recvmsg(sockets_[peer].file(), &message, MSG_DONTWAIT);
      if (bytes > 0) return bytes;
      if (bytes == 0) return ended(peer, "its process has ended");
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return 0;
      return ended(peer, std::strerror(errno));
    }
  }

  std::string why(int peer) override { return why_[peer]; }

  void close(int peer) override { sockets_[peer].close(); }

  void wait(std::chrono::milliseconds limit, std::vector<int>& readable) override {
    // No event tells that a bounded connection has less on its way.
    if (held_) limit = std::min(limit, kHeldNap);
    held_ = false;
    std::array<epoll_event, 64> events;
    const int count = epoll_wait(poll_.file(), events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(limit.count()));
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[i];
      if (event.data.u64 == kKick) {
        std::uint64_t kicks = 0;
        [[maybe_unused]] const ssize_t bytes = read(kick_.file(), &kicks, sizeof kicks);
      } else if ((event.events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) {
        readable.push_back(static_cast<int>(event.data.u64));
      }
    }
  }

  void kick() override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t bytes = write(kick_.file(), &one, sizeof one);
  }

 private:
  // The pieces, or as much of them as has room.
  std::span<const iovec> first_bytes(std::span<const iovec> pieces, std::int64_t room) {
    some_.clear();
    for (const iovec& piece : pieces) {
      const auto bytes = std::min<std::int64_t>(room, static_cast<std::int64_t>(piece.iov_len));
      if (bytes < static_cast<std::int64_t>(piece.iov_len)) {
        if (bytes > 0) some_.push_back({piece.iov_base, static_cast<std::size_t>(bytes)});
        return some_;
      }
      some_.push_back(piece);
      room -= bytes;
    }
    return pieces;
  }

  void watch(int operation, int file, std::uint32_t events, std::uint64_t data) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = data;
    epoll_ctl(poll_.file(), operation, file, &event);
  }

  void set_full(int peer, bool full) {
    if (full_[peer] == full) return;
    full_[peer] = full;
    const std::uint32_t events = full ? EPOLLIN | EPOLLOUT : EPOLLIN;
    watch(EPOLL_CTL_MOD, sockets_[peer].file(), events, peer);
  }

  std::int64_t ended(int peer, const std::string& why) {
    why_[peer] = cat("its connection ended: ", why);
    return -1;
  }

  std::vector<Socket> sockets_;
  std::vector<bool> full_;  // watched for room
  std::vector<SendWindow> windows_;
  std::vector<iovec> some_;
  bool held_ = false;  // a connection had no room since the last wait()
  std::vector<std::string> why_;
  Socket poll_;
  Socket kick_;
};

}  // namespace

std::unique_ptr<Streams> make_tcp_streams(std::vector<Socket> sockets) {
  return std::make_unique<TcpStreams>(std::move(sockets));
}

}  // namespace tandem::host
