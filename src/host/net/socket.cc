// SPDX-License-Identifier: Apache-2.0
#include "host/net/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/strings.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const SocketAddress& address, int flags, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const char* host = address.host.empty() ? nullptr : address.host.c_str();
  const int error = getaddrinfo(host, address.port.c_str(), &hints, &found);
  if (error != 0) why = gai_strerror(error);
  return {error == 0 ? found : nullptr, freeaddrinfo};
}

int remaining_ms(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
}

bool wait_for(int file, short events, Clock::time_point deadline) {
  pollfd ready{file, events, 0};
  while (true) {
    const int count = poll(&ready, 1, remaining_ms(deadline));
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

// Not open, and errno, if this host has no such addresses.
Socket open_socket(const addrinfo& address) {
  Socket made(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.open() && is_shortage(errno)) {
    throw Error(ErrorKind::environment,
                cat("tcp: no socket: ", std::strerror(errno), "; raise ulimit -n"));
  }
  return made;
}

// A connection to a port of this host where nobody listens may meet itself, if the kernel picks
// that very port for its own end.
bool meets_itself(const Socket& socket) {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t own_bytes = sizeof own;
  socklen_t other_bytes = sizeof other;
  getsockname(socket.file(), reinterpret_cast<sockaddr*>(&own), &own_bytes);
  getpeername(socket.file(), reinterpret_cast<sockaddr*>(&other), &other_bytes);
  return own_bytes == other_bytes && std::memcmp(&own, &other, own_bytes) == 0;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    file_ = std::exchange(other.file_, -1);
  }
  return *this;
}

void Socket::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

std::optional<SocketAddress> parse_socket_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  SocketAddress address{text.substr(0, colon), text.substr(colon + 1)};
  if (address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  int port = 0;
  const char* end = address.port.data() + address.port.size();
  const auto parsed = std::from_chars(address.port.data(), end, port);
  const bool sound = parsed.ec == std::errc() && parsed.ptr == end && port > 0 && port < 65536;
  if (address.host.empty() || !sound) return std::nullopt;
  return address;
}

std::string to_string(const SocketAddress& address) {
  const bool brackets = address.host.find(':') != std::string::npos;
  return brackets ? cat('[', address.host, "]:", address.port)
                  : cat(address.host, ':', address.port);
}

Socket listen_on(const SocketAddress& address) {
  std::string why;
  const Addresses found = resolve(address, AI_PASSIVE | AI_NUMERICSERV, why);
  for (const addrinfo* next = found.get(); next != nullptr; next = next->ai_next) {
    Socket socket = open_socket(*next);
    if (!socket.open()) {
      why = std::strerror(errno);
      continue;
    }
    const int yes = 1;
    const int no = 0;
    setsockopt(socket.file(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (next->ai_family == AF_INET6) {
      setsockopt(socket.file(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    }
    if (bind(socket.file(), next->ai_addr, next->ai_addrlen) == 0 &&
        listen(socket.file(), 256) == 0) {
      return socket;
    }
    why = std::strerror(errno);
  }
  throw Error(ErrorKind::environment, cat("tcp: cannot listen on ", to_string(address), ": ", why,
                                          "; choose another port, or end who has this one"));
}

Socket try_connect(const SocketAddress& address, Clock::time_point deadline, std::string& why) {
  const Addresses found = resolve(address, AI_NUMERICSERV, why);
  for (const addrinfo* next = found.get(); next != nullptr; next = next->ai_next) {
    Socket socket = open_socket(*next);
    if (!socket.open()) {
      why = std::strerror(errno);
      continue;
    }
    int error = 0;
    if (connect(socket.file(), next->ai_addr, next->ai_addrlen) != 0) error = errno;
    if (error == EINPROGRESS) {
      socklen_t bytes = sizeof error;
      const bool ready = wait_for(socket.file(), POLLOUT, deadline);
      getsockopt(socket.file(), SOL_SOCKET, SO_ERROR, &error, &bytes);
      if (!ready) error = ETIMEDOUT;
    }
    if (error == 0 && meets_itself(socket)) error = ECONNREFUSED;
    if (error == 0) return socket;
    why = std::strerror(error);
  }
  return {};
}

Socket try_accept(const Socket& listener) {
  const int file = accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (file < 0 && is_shortage(errno)) {
    throw Error(
        ErrorKind::environment,
        cat("tcp: cannot accept a connection: ", std::strerror(errno), "; raise ulimit -n"));
  }
  return Socket(file);
}

SocketAddress local_address(const Socket& socket) {
  sockaddr_storage own{};
  socklen_t bytes = sizeof own;
  getsockname(socket.file(), reinterpret_cast<sockaddr*>(&own), &bytes);
  char host[NI_MAXHOST] = {};
  char port[NI_MAXSERV] = {};
  getnameinfo(reinterpret_cast<sockaddr*>(&own), bytes, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, port};
}

bool wait_readable(const Socket& socket, Clock::time_point deadline,
                   const std::function<void()>& check) {
  if (!check) return wait_for(socket.file(), POLLIN, deadline);
  while (!wait_for(socket.file(), POLLIN, std::min(deadline, Clock::now() + kCheckSlice))) {
    check();
    if (Clock::now() >= deadline) return false;
  }
  return true;
}

bool read_all(const Socket& socket, void* data, std::size_t bytes, Clock::time_point deadline) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = recv(socket.file(), next, bytes, 0);
    if (got > 0) {
      next += got;
      bytes -= static_cast<std::size_t>(got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      return false;
    } else if (!wait_for(socket.file(), POLLIN, deadline)) {
      return false;
    }
  }
  return true;
}

bool write_all(const Socket& socket, const void* data, std::size_t bytes,
               Clock::time_point deadline) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = send(socket.file(), next, bytes, MSG_NOSIGNAL);
    if (put >= 0) {
      next += put;
      bytes -= static_cast<std::size_t>(put);
    } else if (errno != EAGAIN && errno != EINTR) {
      return false;
    } else if (!wait_for(socket.file(), POLLOUT, deadline)) {
      return false;
    }
  }
  return true;
}

}  // namespace tandem::host
