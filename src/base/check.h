// SPDX-License-Identifier: Apache-2.0
// Checks of our own assumptions. User input never reaches one: it is refused with an Error.
#pragma once

#include <string>

namespace tandem {

// Prints the failed condition, its place and the reproduce line, then aborts (exit code 134).
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& message);

// The command line that a failed check prints, so that anybody can run it again.
void set_reproduce_line(const std::string& line);
const std::string& reproduce_line();

}  // namespace tandem

#define TANDEM_CHECK(condition, message)                                 \
  do {                                                                   \
    if (!(condition)) [[unlikely]]                                       \
      ::tandem::check_failed(#condition, __FILE__, __LINE__, (message)); \
  } while (false)

#ifdef NDEBUG
#define TANDEM_DCHECK(condition, message) static_cast<void>(0)
#else
#define TANDEM_DCHECK(condition, message) TANDEM_CHECK(condition, message)
#endif
