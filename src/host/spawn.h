// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a world, as processes or as threads, watches them, and gathers what each
// one says at its end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/transport/transport.h"

namespace tandem::host {

// How one rank ended.
struct RankOutcome {
  int exit_code = 0;       // 0, the code of its Error, or 128 + signal
  std::string result;      // what its function returned
  std::string message;     // why it failed
  bool secondary = false;  // it stopped because another one failed
};

using RankMain = std::function<std::string(int rank)>;
using ProgressSink = std::function<void(int rank, const std::string& line)>;

// Runs `main` on every rank as forked processes of a shm transport. A rank that dies breaks the
// world for the others; whoever has not ended two seconds after the first failure is killed.
// SIGINT and SIGTERM end all ranks; their outcomes then carry 128 + signal.
std::vector<RankOutcome> run_as_processes(Transport& transport, const RankMain& main,
                                          const ProgressSink& progress);
// The same with one thread per rank.
std::vector<RankOutcome> run_as_threads(Transport& transport, const RankMain& main,
                                        const ProgressSink& progress);

// Called on a rank: hands a line to the progress sink.
void send_progress(const std::string& line);

}  // namespace tandem::host
