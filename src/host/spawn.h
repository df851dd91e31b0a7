// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a world, as processes or as threads, watches them, and gathers what each
// one says at its end.
#pragma once

#include <vector>

#include "host/rank_main.h"
#include "host/transport/transport.h"

namespace tandem::host {

// Runs `main` on every rank as processes forked from this one. A rank that dies breaks the
// world for the others; whoever has not ended two seconds after the first failure is killed.
// SIGINT and SIGTERM end all ranks; their outcomes then carry 128 + signal.
std::vector<RankOutcome> run_as_processes(Transport& transport, const RankMain& main,
                                          const ProgressSink& progress);
// The same with one thread per rank.
std::vector<RankOutcome> run_as_threads(Transport& transport, const RankMain& main,
                                        const ProgressSink& progress);

}  // namespace tandem::host
