// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "host/link/streams.h"
#include "host/net/socket.h"

namespace tandem::host {

// One connected socket per peer, in order of ranks; none for the own rank.
std::unique_ptr<Streams> make_tcp_streams(std::vector<Socket> sockets);

}  // namespace tandem::host
