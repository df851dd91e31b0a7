// SPDX-License-Identifier: Apache-2.0
#include "host/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace tandem::host {

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::nanoseconds limit) {
  timespec relative;
  relative.tv_sec = limit.count() / 1'000'000'000;
  relative.tv_nsec = limit.count() % 1'000'000'000;
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &relative, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tandem::host
