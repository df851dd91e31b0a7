// SPDX-License-Identifier: Apache-2.0
#include "host/process_state.h"

#include <cstdio>
#include <cstring>

namespace tandem::host {

char process_state(int pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  char line[512] = {};
  const std::size_t bytes = std::fread(line, 1, sizeof line - 1, file);
  std::fclose(file);
  const char* end = static_cast<const char*>(memrchr(line, ')', bytes));
  return end != nullptr && end[1] == ' ' ? end[2] : 0;
}

}  // namespace tandem::host
