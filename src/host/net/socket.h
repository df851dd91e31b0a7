// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "host/futex.h"

namespace tandem::host {

// An open descriptor, closed with its owner.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int file) : file_(file) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;

  int file() const { return file_; }
  bool open() const { return file_ >= 0; }
  void close();

 private:
  int file_ = -1;
};

// Where a socket listens or connects to: a name or number of a host, and a port.
struct SocketAddress {
  std::string host;
  std::string port;
};

// "host:port", "1.2.3.4:5", "[::1]:5"; nothing if the text has no host or no port from 1 to 65535.
std::optional<SocketAddress> parse_socket_address(const std::string& text);
std::string to_string(const SocketAddress& address);

// Listens on a port of one local address ("127.0.0.1") or of all of them (""). Port "0": any that
// is free. Throws Error{environment}.
Socket listen_on(const SocketAddress& address);
// One attempt, within the deadline. Nothing, and `why`, if nobody answers.
Socket try_connect(const SocketAddress& address, Clock::time_point deadline, std::string& why);
// The next one that has connected to a listener, if there is one.
Socket try_accept(const Socket& listener);

// The own end of a connection or a listener, with the number of its host.
SocketAddress local_address(const Socket& socket);

// How often `check` is called by who waits.
inline constexpr std::chrono::milliseconds kCheckSlice{100};

// Waits until there is something to read. False: the deadline passed. `check`, if given, is called
// now and then and may throw.
bool wait_readable(const Socket& socket, Clock::time_point deadline,
                   const std::function<void()>& check = {});

// All bytes, or false: the deadline passed or the connection ended.
bool read_all(const Socket& socket, void* data, std::size_t bytes, Clock::time_point deadline);
bool write_all(const Socket& socket, const void* data, std::size_t bytes,
               Clock::time_point deadline);

}  // namespace tandem::host
