// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "host/transport/transport.h"

namespace tandem::host {

// Ranks are processes that are forked from the one that made the transport.
std::unique_ptr<Transport> make_shm_transport(int ranks);

}  // namespace tandem::host
