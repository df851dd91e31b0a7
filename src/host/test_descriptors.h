// SPDX-License-Identifier: Apache-2.0
// A process that has few descriptors left.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "base/test_sanitizers.h"

namespace tandem::host {

// The sanitizer needs descriptors to look at objects.
inline constexpr bool kCanHaveNone = !kAddressSanitizer;

// While it lives, this process can open exactly `free` more descriptors, of kFew at most.
class FewDescriptors {
 public:
  static constexpr int kFew = 80;

  explicit FewDescriptors(int free) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{kFew, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    for (int file = 0; (file = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) {
      files_.push_back(file);
    }
    for (; free > 0; --free) {
      close(files_.back());
      files_.pop_back();
    }
  }
  ~FewDescriptors() {
    for (const int file : files_) close(file);
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<int> files_;
};

}  // namespace tandem::host
