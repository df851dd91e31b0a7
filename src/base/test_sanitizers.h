// SPDX-License-Identifier: Apache-2.0
// Which sanitizers a build has, for tests that one of them disturbs.
#pragma once

namespace tandem {

#if defined(__SANITIZE_ADDRESS__)
#define TANDEM_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TANDEM_TEST_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TANDEM_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TANDEM_TEST_TSAN 1
#endif
#endif

#ifdef TANDEM_TEST_ASAN
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#ifdef TANDEM_TEST_TSAN
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace tandem
