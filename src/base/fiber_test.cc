// SPDX-License-Identifier: Apache-2.0
#include "base/fiber.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace tandem {
namespace {

TEST(Fiber, RunsInTurnsWithItsResumer) {
  std::vector<int> order;
  Fiber fiber;
  fiber.start([&] {
    order.push_back(1);
    fiber.suspend();
    order.push_back(3);
  });
  fiber.resume();
  order.push_back(2);
  EXPECT_FALSE(fiber.finished());
  fiber.resume();
  EXPECT_TRUE(fiber.finished());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(Fiber, StartsAgainOnTheSameStack) {
  Fiber fiber;
  int runs = 0;
  for (int i = 0; i < 1000; ++i) {
    fiber.start([&] {
      ++runs;
      fiber.suspend();
      ++runs;
    });
    fiber.resume();
    fiber.resume();
  }
  EXPECT_EQ(runs, 2000);
}

TEST(Fiber, UnwindsAnExceptionOnItsOwnStack) {
  Fiber fiber;
  bool caught = false;
  fiber.start([&] {
    try {
      fiber.suspend();
      throw std::runtime_error("planned");
    } catch (const std::runtime_error&) {
      caught = true;
    }
  });
  fiber.resume();
  fiber.resume();
  EXPECT_TRUE(caught);
}

TEST(Fiber, HundredFibersInterleave) {
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<int> counts(100, 0);
  for (int i = 0; i < 100; ++i) {
    fibers.push_back(std::make_unique<Fiber>());
    Fiber* self = fibers.back().get();
    self->start([self, &counts, i] {
      for (int step = 0; step < 10; ++step) {
        ++counts[i];
        self->suspend();
      }
    });
  }
  for (int step = 0; step < 11; ++step) {
    for (auto& fiber : fibers) fiber->resume();
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(fibers[i]->finished());
    EXPECT_EQ(counts[i], 10);
  }
}

}  // namespace
}  // namespace tandem
