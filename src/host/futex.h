// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tandem::host {

using Clock = std::chrono::steady_clock;

// Sleeps while the word holds `expected`, at most `limit`. Shared, never private: the word may lie
// in memory of several processes, where std::atomic::wait does not wake.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::nanoseconds limit);
void futex_wake_all(std::atomic<std::uint32_t>& word);

}  // namespace tandem::host
