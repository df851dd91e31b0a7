// SPDX-License-Identifier: Apache-2.0
#include "host/transport/tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/strings.h"
#include "host/net/message.h"
#include "host/reports/rank_name.h"
#include "host/transport/link_transport.h"
#include "host/transport/tcp_streams.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

class TcpTransport final : public LinkTransport {
 public:
  using LinkTransport::LinkTransport;
  std::string_view name() const override { return "tcp"; }

 private:
  std::string make_contact(const JoinOptions& options, const Socket& local) override {
    if (options.rank == 0) return "";  // all have come to it
    listener_ = listen_on({local_address(local).host, "0"});
    return to_string(local_address(listener_));
  }

  std::unique_ptr<Streams> make_streams(const JoinOptions& options, Rendezvous met) override {
    connect_to_lower(options, met);
    accept_higher(options, met);
    listener_.close();
    for (const Socket& socket : met.sockets) tune(socket, options.silence_limit);
    return make_tcp_streams(std::move(met.sockets));
  }

  static std::string greeting(const JoinOptions& options, int rank) {
    return cat(options.job, '\n', rank);
  }

  static void connect_to_lower(const JoinOptions& options, Rendezvous& met) {
    for (int peer = 1; peer < options.rank; ++peer) {
      const std::string& contact = met.members[peer].contact;
      std::string why = "its address makes no sense";
      if (const auto address = parse_socket_address(contact)) {
        met.sockets[peer] = try_connect(*address, options.deadline, why);
      }
      const Socket& socket = met.sockets[peer];
      if (!socket.open() ||
          !send_message(socket, greeting(options, options.rank), options.deadline)) {
        throw Error(ErrorKind::timeout,
                    cat(name_rank(options.rank, options.group), ": no connection to ",
                        name_rank(peer, options.group), " on ", met.members[peer].host, " (",
                        contact, "): ", why, "; open the firewall between these hosts"));
      }
    }
  }

  void accept_higher(const JoinOptions& options, Rendezvous& met) {
    const int first = options.rank + 1;
    int missing = options.rank == 0 ? 0 : options.ranks - first;
    while (missing > 0) {
      Socket socket = try_accept(listener_);
      if (!socket.open()) {
        if (wait_readable(listener_, options.deadline, options.check)) continue;
        std::string names;
        for (int peer = first; peer < options.ranks; ++peer) {
          if (met.sockets[peer].open()) continue;
          names += (names.empty() ? "" : ", ") + name_rank(peer, options.group);
        }
        throw Error(ErrorKind::timeout,
                    cat(name_rank(options.rank, options.group), ": no connection from ", names,
                        "; open the firewall between these hosts"));
      }
      // A stranger gets a moment to say who it is.
      const auto limit = std::min(options.deadline, Clock::now() + std::chrono::seconds(1));
      std::string text;
      if (!receive_message(socket, text, limit)) continue;
      for (int peer = first; peer < options.ranks; ++peer) {
        if (text != greeting(options, peer) || met.sockets[peer].open()) continue;
        met.sockets[peer] = std::move(socket);
        --missing;
        break;
      }
    }
  }

  static void tune(const Socket& socket, std::chrono::milliseconds silence_limit) {
    if (!socket.open()) return;
    const int yes = 1;
    const auto limit_ms = static_cast<unsigned>(silence_limit.count());
    setsockopt(socket.file(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    // What the kernel holds and has not sent cannot be overtaken; its own choice is megabytes, tens
    // of milliseconds of a slow link.
    const unsigned unsent_bytes = 128 * 1024;
    setsockopt(socket.file(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes, sizeof unsent_bytes);
    // Data that is not acknowledged for so long ends the connection: a link or a host is down.
    setsockopt(socket.file(), IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
  }

  Socket listener_;
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(int ranks, const TransportOptions& options) {
  return std::make_unique<TcpTransport>(ranks, options);
}

}  // namespace tandem::host
