// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"
#include "host/transport/shared_group.h"
#include "host/transport/shm.h"
#include "host/transport/tcp.h"
#include "host/transport/threads.h"
#include "host/transport/transport.h"
#include "host/transport/ucx.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

constexpr TransportEntry kTransports[] = {
    {"shm", "ranks are processes of one host that share memory", Reach::one_host, Built::yes,
     [](int ranks, const TransportOptions&) { return make_shm_transport(ranks); }},
    {"threads", "ranks are groups of threads of one process", Reach::one_host, Built::yes,
     [](int ranks, const TransportOptions&) { return make_threads_transport(ranks); }},
    {"tcp", "ranks are processes of any hosts, connected by sockets", Reach::many_hosts, Built::yes,
     make_tcp_transport},
    {"ucx", "ranks are processes of any hosts, connected by UCX: InfiniBand, RoCE, sockets",
     Reach::many_hosts, kUcxBuilt, make_ucx_transport},
};

}  // namespace

std::span<const TransportEntry> all_transports() { return kTransports; }

Link* Transport::join(int, std::chrono::milliseconds) { return nullptr; }
void Transport::leave(int, const std::string&) {}

std::unique_ptr<Transport> Transport::make_group(HostRank& rank, const std::vector<int>& members) {
  return make_shared_group(*this, rank, members);
}

std::unique_ptr<Transport> make_transport(std::string_view name, int ranks,
                                          const TransportOptions& options) {
  std::string names;
  for (const TransportEntry& entry : kTransports) {
    if (entry.name == name) return entry.make(ranks, options);
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error(ErrorKind::refused, cat("transport: unknown name '", name, "'; use one of ", names));
}

}  // namespace tandem::host
