// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace tandem {

// What went wrong, seen from the caller. The number is the exit code of the command line.
enum class ErrorKind {
  refused = 2,      // the request is impossible: shape, option, file, device rule
  timeout = 3,      // a wait passed its deadline
  lost_rank = 33,   // a peer died (exit code 3)
  cancelled = 34,   // another core or rank failed first (exit code 3)
  environment = 5,  // memory, descriptors or a transport are lacking
};

// Exit code of the command line for an error of this kind.
constexpr int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::refused:
      return 2;
    case ErrorKind::timeout:
    case ErrorKind::lost_rank:
    case ErrorKind::cancelled:
      return 3;
    case ErrorKind::environment:
      return 5;
  }
  return 134;
}

// The only exception type that leaves the library. The message is complete: subject, observation,
// remedy, and for `refused` every violated rule, one per line.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace tandem
