// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "host/transport/transport.h"

namespace tandem::host {

// Ranks are groups of threads of one process.
std::unique_ptr<Transport> make_threads_transport(int ranks);

}  // namespace tandem::host
