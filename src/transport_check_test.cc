// SPDX-License-Identifier: Apache-2.0
#include "tandem/transport_check.h"

#include <gtest/gtest.h>

#include "host/transport/transport.h"
#include "tandem/error.h"

namespace tandem {
namespace {

void expect_sound(const WorldOptions& options, std::string_view memory) {
  const auto checks = check_transport(options);
  ASSERT_EQ(checks.size(), 7u);
  for (const TransportCheck& check : checks) {
    EXPECT_TRUE(check.passed) << options.transport << ' ' << check.name << ": "
                              << check.observation;
    if (check.name != "memory") continue;
    EXPECT_EQ(check.observation, memory) << options.transport;
  }
}

TEST(TransportCheck, EveryTransportKeepsWhatOperatorsRelyOn) {
  for (const host::TransportEntry& entry : host::all_transports()) {
    if (entry.built == host::Built::no) continue;
    WorldOptions options{
        .ranks = 3, .transport = std::string(entry.name), .timeout_ms = 20000, .workers = 1};
    constexpr std::string_view kAll = "shared with 2 of 2 peers; 0 requests to them over the link";
    const bool is_far = entry.reach == host::Reach::many_hosts;
    expect_sound(options,
                 is_far ? "shared with 0 of 2 peers; 0 requests to them over the link" : kAll);
    if (!is_far) continue;
    options.same_host = SameHost::shared;
    expect_sound(options, kAll);
  }
}

TEST(TransportCheck, OneRankIsRefused) {
  try {
    check_transport({.ranks = 1, .transport = "threads"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
  }
}

}  // namespace
}  // namespace tandem
