// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/link/streams.h"
#include "host/transport/ucx_worker.h"

namespace tandem::host {

// Streams to the workers of these addresses, but for the own rank's.
std::unique_ptr<Streams> make_ucx_streams(std::unique_ptr<UcxWorker> worker,
                                          const std::vector<std::string>& addresses, int rank);

}  // namespace tandem::host
