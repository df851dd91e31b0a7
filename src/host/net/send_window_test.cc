// SPDX-License-Identifier: Apache-2.0
#include "host/net/send_window.h"

#include <gtest/gtest.h>

namespace tandem::host {
namespace {

constexpr double kBytesPerUs = 12.5;  // 100 Mbit/s

PathSample path(double queue_us, double shortest_us = 100, double bytes_per_us = kBytesPerUs) {
  return {queue_us + shortest_us, shortest_us, bytes_per_us};
}

TEST(SendWindow, APathWithoutAQueueIsLeftToTheKernel) {
  SendWindow window;
  window.update(path(0));
  window.update(path(7000));
  // A long and fast one: 80 ms at 10 Gbit/s.
  window.update(path(1000, 80000, 1250));
  EXPECT_FALSE(window.bounded());
}

TEST(SendWindow, AQueueOfOursIsHeldToFourMilliseconds) {
  SendWindow window;
  window.update(path(20000));
  EXPECT_EQ(window.limit(), 12.5 * 4100);
  // Between too long and too short nothing changes.
  for (int i = 0; i < 100; ++i) window.update(path(4000));
  EXPECT_EQ(window.limit(), 12.5 * 4100);
  // A slower moment counts, a faster one (a burst that a shaper lets through) does not.
  window.update(path(9000, 100, 50));
  EXPECT_EQ(window.limit(), 12.5 * 4100);
  window.update(path(9000, 100, 10));
  EXPECT_EQ(window.limit(), 10 * 4100);
}

TEST(SendWindow, ALongPathKeepsWhatFillsIt) {
  SendWindow window;
  window.update(path(20000, 50000));
  EXPECT_EQ(window.limit(), 12.5 * 54000);
}

TEST(SendWindow, NoPathIsStarved) {
  SendWindow window;
  window.update(path(500000, 100, 0.01));
  EXPECT_EQ(window.limit(), 32 * 1024);
}

// Others fill the queue: what this connection holds back only leaves them more room.
TEST(SendWindow, AQueueThatStaysIsNotOurs) {
  SendWindow window;
  for (int i = 0; i < 15; ++i) window.update(path(20000));
  window.update(path(3000));  // it went: it was ours
  for (int i = 0; i < 15; ++i) window.update(path(20000));
  EXPECT_TRUE(window.bounded());
  for (int i = 0; i < 10; ++i) window.update(path(20000));
  EXPECT_FALSE(window.bounded());
  window.update(path(20000));
  EXPECT_FALSE(window.bounded());
}

}  // namespace
}  // namespace tandem::host
