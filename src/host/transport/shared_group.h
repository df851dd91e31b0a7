// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "host/transport/transport.h"

namespace tandem::host {

// What Transport::make_group() is where all memory can be mapped: windows are the ranks' own, as
// before; the words that the members share lie in a window of the first one.
std::unique_ptr<Transport> make_shared_group(Transport& whole, HostRank& rank,
                                             const std::vector<int>& members);

}  // namespace tandem::host
