// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/link/streams.h"
#include "host/transport/ucx_worker.h"

namespace tandem::host {

// Streams to the workers of these addresses, but for the own rank's. `group`: as
// Transport::group().
std::unique_ptr<Streams> make_ucx_streams(std::unique_ptr<UcxWorker> worker,
                                          const std::vector<std::string>& addresses, int rank,
                                          std::span<const int> group = {});

}  // namespace tandem::host
