// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem {

// The source place of a machine call. A verb call stands on one line, so that every compiler
// gives the same place.
struct Site {
  const char* file = "";
  int line = 0;

  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace tandem
