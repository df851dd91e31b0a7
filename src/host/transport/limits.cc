// SPDX-License-Identifier: Apache-2.0
#include "host/transport/limits.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/strings.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

std::optional<std::int64_t> number_in(const char* path) {
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return std::nullopt;
  long long value = 0;
  const bool found = std::fscanf(file, "%lld", &value) == 1;  // "max" is no number
  std::fclose(file);
  return found ? std::optional<std::int64_t>(value) : std::nullopt;
}

// What the control group of a container leaves.
std::int64_t free_in_group() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  return limit && used ? std::max<std::int64_t>(0, *limit - *used) : INT64_MAX;
}

// What `ulimit -v` leaves.
std::int64_t free_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INT64_MAX;
  const auto pages = number_in("/proc/self/statm");
  const std::int64_t used = pages.value_or(0) * getpagesize();
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - used);
}

std::int64_t free_of_kernel() {
  std::int64_t bytes = INT64_MAX;
  FILE* file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return bytes;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, "MemAvailable:", 13) == 0) {
      bytes = std::strtoll(line + 13, nullptr, 10) * 1024;
    }
  }
  std::fclose(file);
  return bytes;
}

// Those that take a number which the limit allows: it may have been lowered when larger ones were
// open.
std::int64_t open_descriptors(std::int64_t limit) {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return errno == EMFILE ? limit : 0;
  std::int64_t count = -1;  // the folder's own
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.' && std::strtoll(entry->d_name, nullptr, 10) < limit) ++count;
  }
  closedir(folder);
  return count;
}

}  // namespace

std::int64_t available_bytes() {
  return std::min({free_of_kernel(), free_in_group(), free_address_space()});
}

void check_descriptors(const std::string& subject, std::int64_t needed) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const auto allowed = static_cast<std::int64_t>(limit.rlim_cur);
  const std::int64_t left = std::max<std::int64_t>(0, allowed - open_descriptors(allowed));
  if (needed <= left) return;
  throw Error(ErrorKind::environment, cat(subject, ": ", needed, " more descriptors are needed, ",
                                          left, " are free of the ", allowed,
                                          " that this process may have; raise ulimit -n or "
                                          "use fewer ranks"));
}

}  // namespace tandem::host
