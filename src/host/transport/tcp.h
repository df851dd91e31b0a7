// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "host/transport/transport.h"

namespace tandem::host {

// Ranks connected by sockets, pair by pair. Without a seat they are processes forked from this one
// and meet on the loopback. Throws Error{environment} if there is no port to listen on.
std::unique_ptr<Transport> make_tcp_transport(int ranks, const TransportOptions& options);

}  // namespace tandem::host
