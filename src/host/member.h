// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include "host/rank_main.h"
#include "host/transport/transport.h"

namespace tandem::host {

// Runs `main` as one rank of a world whose other ranks are started elsewhere. Every rank hears the
// progress of all and how all ended: it returns the outcomes of all ranks, in their order. Throws
// what Transport::join() throws.
std::vector<RankOutcome> run_as_member(Transport& transport, int rank,
                                       std::chrono::milliseconds timeout, const RankMain& main,
                                       const ProgressSink& progress);

}  // namespace tandem::host
