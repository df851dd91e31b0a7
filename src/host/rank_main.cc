// SPDX-License-Identifier: Apache-2.0
#include "host/rank_main.h"

#include <exception>
#include <new>
#include <system_error>

#include "base/strings.h"
#include "host/transport/limits.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

thread_local const ProgressSink* thread_sink = nullptr;
thread_local int thread_rank = 0;

// Of threads, descriptors or memory. Other errors of the system are the program's own.
bool is_shortage(const std::error_code& code) {
  return code == std::errc::resource_unavailable_try_again ||
         code == std::errc::too_many_files_open ||
         code == std::errc::too_many_files_open_in_system || code == std::errc::not_enough_memory;
}

}  // namespace

RankOutcome run_main(const RankMain& main, int rank) {
  RankOutcome outcome;
  try {
    outcome.result = main(rank);
  } catch (const Error& error) {
    outcome.exit_code = exit_code(error.kind());
    outcome.message = error.what();
    outcome.secondary =
        error.kind() == ErrorKind::cancelled || error.kind() == ErrorKind::lost_rank;
  } catch (const std::bad_alloc&) {
    outcome.exit_code = exit_code(ErrorKind::environment);
    outcome.message = cat("rank ", rank, ": out of memory with ", available_bytes(),
                          " bytes available; use a smaller shape or raise the limits (ulimit -v)");
  } catch (const std::system_error& error) {
    const bool lacks = is_shortage(error.code());
    outcome.exit_code = lacks ? exit_code(ErrorKind::environment) : 134;
    outcome.message =
        cat("rank ", rank, lacks ? ": no thread or descriptor: " : ": ", error.what());
    if (lacks) outcome.message += "; raise the limits (ulimit -u, -v, -n) or use fewer workers";
  } catch (const std::exception& error) {
    outcome.exit_code = 134;
    outcome.message = cat("rank ", rank, ": ", error.what());
  }
  return outcome;
}

ProgressScope::ProgressScope(int rank, const ProgressSink& sink) {
  thread_rank = rank;
  thread_sink = &sink;
}

ProgressScope::~ProgressScope() { thread_sink = nullptr; }

void send_progress(const std::string& line) {
  if (thread_sink != nullptr) (*thread_sink)(thread_rank, line);
}

}  // namespace tandem::host
