// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"
#include "host/transport/shm.h"
#include "host/transport/threads.h"
#include "host/transport/transport.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

constexpr TransportEntry kTransports[] = {
    {"shm", "ranks are processes of one host that share memory", make_shm_transport},
    {"threads", "ranks are groups of threads of one process", make_threads_transport},
};

}  // namespace

std::span<const TransportEntry> all_transports() { return kTransports; }

std::unique_ptr<Transport> make_transport(std::string_view name, int ranks) {
  std::string names;
  for (const TransportEntry& entry : kTransports) {
    if (entry.name == name) return entry.make(ranks);
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error(ErrorKind::refused, cat("transport: unknown name '", name, "'; use one of ", names));
}

}  // namespace tandem::host
