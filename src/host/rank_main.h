// SPDX-License-Identifier: Apache-2.0
// What a rank runs, how it ends, and how it speaks meanwhile, whoever started it.
#pragma once

#include <functional>
#include <string>

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

// Runs it and turns what it throws into an outcome.
RankOutcome run_main(const RankMain& main, int rank);

// While it lives, send_progress() on this thread goes to the sink.
class ProgressScope {
 public:
  ProgressScope(int rank, const ProgressSink& sink);
  ~ProgressScope();
  ProgressScope(const ProgressScope&) = delete;
  ProgressScope& operator=(const ProgressScope&) = delete;
};

// Called on a rank: hands a line to the progress sink.
void send_progress(const std::string& line);

}  // namespace tandem::host
