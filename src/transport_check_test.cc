// SPDX-License-Identifier: Apache-2.0
#include "tandem/transport_check.h"

#include <gtest/gtest.h>

#include "host/transport/transport.h"
#include "tandem/error.h"

namespace tandem {
namespace {

TEST(TransportCheck, EveryTransportKeepsWhatOperatorsRelyOn) {
  for (const host::TransportEntry& entry : host::all_transports()) {
    if (entry.built == host::Built::no) continue;
    const WorldOptions options{
        .ranks = 3, .transport = std::string(entry.name), .timeout_ms = 20000, .workers = 1};
    const auto checks = check_transport(options);
    ASSERT_EQ(checks.size(), 6u);
    for (const TransportCheck& check : checks) {
      EXPECT_TRUE(check.passed) << entry.name << ' ' << check.name << ": " << check.observation;
    }
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
