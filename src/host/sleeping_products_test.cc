// SPDX-License-Identifier: Apache-2.0
// Products that sleep stand for an accelerator's: none begins before its operands are there, and
// what holds up the worker meanwhile delays none of them.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "host/launch_site.h"
#include "host/test_world.h"

namespace tandem::host {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kRows = 10, kDepth = 100, kColumns = 20;

// One block on one worker whose products take `product` each.
void run_block(HostRank& rank, milliseconds product, std::function<void(CubeCore&)> cube,
               std::function<void(VectorCore&)> vector) {
  const auto ns = std::chrono::nanoseconds(product).count();
  rank.set_ns_per_product(static_cast<double>(ns) / (kRows * kDepth * kColumns));
  Launch launch;
  launch.blocks = 1;
  launch.cube = std::move(cube);
  launch.vector = std::move(vector);
  WorkerPool pool(1);
  LaunchSite site(rank, pool, std::move(launch), {});
  site.run({});
}

void sleep_once(CubeCore& core) {
  const Fragment rows{.data = {.rows = kRows, .row_bytes = kDepth}};
  core.load(0, {&rows, 1}, {.columns = {0, kColumns}});
  core.matmul(0, 0, Accumulate::init);
}

void expect_sound(const TestMain& main) {
  EXPECT_EQ(failures_of(run_test_world("threads", 1, {.workers = 1}, main)), "");
}

// The worker copies before it looks at the product again: the flag is set by then.
TEST(SleepingProducts, BeginWhenTheirOperandsAreThere) {
  expect_sound([](HostRank& rank, Findings& findings) {
    Clock::time_point ready, end;
    run_block(
        rank, milliseconds(20),
        [&](CubeCore& core) {
          for (int turn = 0; turn < 2; ++turn) {
            core.wait_flag(FlagId{1});
            sleep_once(core);
          }
          end = Clock::now();
        },
        [&](VectorCore& core) {
          core.set_flag(Pipe::mte3, FlagId{1});
          std::this_thread::sleep_for(milliseconds(50));
          ready = Clock::now();
          core.set_flag(Pipe::mte3, FlagId{1});
        });
    findings.expect(end - ready >= milliseconds(20), "the product began before its operands");
  });
}

// One after the other they take 120 ms, with what the worker does after each of them 195 ms.
TEST(SleepingProducts, AreNotHeldUpByTheirWorker) {
  constexpr int kProducts = 6;
  expect_sound([](HostRank& rank, Findings& findings) {
    Clock::time_point begin, end;
    run_block(
        rank, milliseconds(20),
        [&](CubeCore& core) {
          begin = Clock::now();
          for (int turn = 0; turn < kProducts; ++turn) {
            sleep_once(core);
            core.set_flag(Pipe::fix, FlagId{2});
          }
          end = Clock::now();
        },
        [&](VectorCore& core) {
          for (int turn = 0; turn < kProducts; ++turn) {
            core.wait_flag(FlagId{2});
            std::this_thread::sleep_for(milliseconds(15));
          }
        });
    const auto took = std::chrono::duration_cast<milliseconds>(end - begin).count();
    findings.expect(took >= 120, "products end early: ", took, " ms");
    findings.expect(took < 180, "products wait for their worker: ", took, " ms");
  });
}

}  // namespace
}  // namespace tandem::host
