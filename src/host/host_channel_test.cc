// SPDX-License-Identifier: Apache-2.0
// Transfers between the windows of two ranks.
#include "host/host_channel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "host/launch_site.h"
#include "host/link/link.h"
#include "host/test_world.h"
#include "mx/bf16.h"

namespace tandem::host {
namespace {

constexpr std::int64_t kBytes = 4096;

// Two ranks with windows and a local buffer c of kBytes each.
class Channels : public testing::TestWithParam<std::string> {
 protected:
  using Kernel = std::function<void(VectorCore& core, Channel& channel)>;
  using Check =
      std::function<void(Findings& findings, const std::byte* window, const std::byte* local)>;

  // Runs the kernel on rank 0, then the check on rank 1's window and rank 0's local buffer.
  void expect_after(const Kernel& kernel, const Check& check_window, const Check& check_local) {
    const auto main = [&](HostRank& rank, Findings& findings) {
      const Windows windows = rank.allocate_windows(kBytes);
      std::vector<std::byte> local(kBytes);
      for (std::int64_t i = 0; i < kBytes; ++i) {
        local[i] = static_cast<std::byte>(i * 7 + 1);
        if (rank.rank() == 1) windows.addresses[1][i] = static_cast<std::byte>(i * 5 + 2);
      }
      rank.meet("the end of filling");
      Launch launch;
      launch.blocks = 1;
      launch.epochs = 10;
      launch.cube = [](CubeCore&) {};
      launch.vector = [&](VectorCore& core) {
        if (rank.rank() != 0) return;
        kernel(core, core.channel(1));
        core.channel(1).drain();
      };
      for (Buffer buffer : {Buffer::c, Buffer::window_data}) {
        launch.extents[static_cast<std::size_t>(buffer)].bytes = kBytes;
      }
      WorkerPool pool(1);
      LaunchSite site(rank, pool, std::move(launch), windows);
      Bindings bindings;
      bindings.local[static_cast<std::size_t>(Buffer::c)] = local.data();
      site.run(bindings);
      rank.meet("the end of the launch");
      if (Link* link = rank.link(); link != nullptr && rank.rank() == 0) {
        const bool shares = GetParam().ends_with(kShared);
        findings.expect((link->memory_requests(1) == 0) == shares, link->memory_requests(1),
                        " requests went over the link");
      }
      if (rank.rank() == 0 && check_local)
        check_local(findings, windows.addresses[1], local.data());
      if (rank.rank() == 1 && check_window) {
        check_window(findings, windows.addresses[1], local.data());
      }
      rank.meet("the end of reading");
      rank.free_windows(windows);
    };
    EXPECT_EQ(failures_of(run_test_world(GetParam(), 2, {.timeout_ms = 10000}, main)), "");
  }
};

INSTANTIATE_TEST_SUITE_P(All, Channels, testing::ValuesIn(built_transports()),
                         [](const auto& instance) { return instance.param; });

std::byte local_byte(std::int64_t i) { return static_cast<std::byte>(i * 7 + 1); }
std::byte window_byte(std::int64_t i) { return static_cast<std::byte>(i * 5 + 2); }

// Three rows of 40 bytes, 50 apart in the source and 100 apart in the destination.
constexpr View kLocalRows{0, Buffer::c, 11, 3, 40, 50};
constexpr View kWindowRows{1, Buffer::window_data, 300, 3, 40, 100};

// The byte of `from` that lies at `i` of `to` after a copy, or −1 outside the copy.
std::int64_t source_of(const View& from, const View& to, std::int64_t i) {
  for (std::int64_t row = 0; row < to.rows; ++row) {
    const std::int64_t first = to.offset + row * to.pitch;
    if (i >= first && i < first + to.row_bytes) {
      return from.offset + row * from.pitch + i - first;
    }
  }
  return -1;
}

TEST_P(Channels, AWriteBringsItsRowsAndNothingElse) {
  expect_after([](VectorCore&, Channel& channel) { channel.write_nbi(kWindowRows, kLocalRows); },
               [](Findings& findings, const std::byte* window, const std::byte*) {
                 for (std::int64_t i = 0; i < kBytes; ++i) {
                   const std::int64_t from = source_of(kLocalRows, kWindowRows, i);
                   findings.expect(window[i] == (from >= 0 ? local_byte(from) : window_byte(i)),
                                   "byte ", i);
                 }
               },
               {});
}

TEST_P(Channels, AReadFetchesItsRowsAndNothingElse) {
  expect_after([](VectorCore&, Channel& channel) { channel.read_nbi(kLocalRows, kWindowRows); }, {},
               [](Findings& findings, const std::byte*, const std::byte* local) {
                 for (std::int64_t i = 0; i < kBytes; ++i) {
                   const std::int64_t from = source_of(kWindowRows, kLocalRows, i);
                   findings.expect(local[i] == (from >= 0 ? window_byte(from) : local_byte(i)),
                                   "byte ", i);
                 }
               });
}

TEST_P(Channels, AValueFillsItsRows) {
  expect_after(
      [](VectorCore&, Channel& channel) {
        channel.write_value_nbi({1, Buffer::window_data, 64, 2, 12, 20}, 0xDDCCBBAA);
      },
      [](Findings& findings, const std::byte* window, const std::byte*) {
        constexpr unsigned char kValue[] = {0xAA, 0xBB, 0xCC, 0xDD};
        for (std::int64_t i = 60; i < 100; ++i) {
          const bool inside = (i >= 64 && i < 76) || (i >= 84 && i < 96);
          findings.expect(window[i] == (inside ? std::byte{kValue[i % 4]} : window_byte(i)),
                          "byte ", i);
        }
      },
      {});
}

TEST_P(Channels, FetchAddReturnsWhatTheWordHeld) {
  expect_after(
      [](VectorCore&, Channel& channel) {
        const View word{1, Buffer::window_data, 128, 1, 8, 8};
        channel.write_value_nbi(word, 0);
        TANDEM_CHECK(channel.fetch_add(word, 5) == 0, "the word held 0");
        TANDEM_CHECK(channel.fetch_add(word, 6) == 5, "the word held 5");
      },
      [](Findings& findings, const std::byte* window, const std::byte*) {
        std::uint64_t value;
        std::memcpy(&value, window + 128, 8);
        findings.expect_equal(value, std::uint64_t{11}, "the word");
      },
      {});
}

TEST_P(Channels, AReductionAddsElements) {
  expect_after(
      [](VectorCore& core, Channel& channel) {
        // 1.0 and 2.5 in bf16, little-endian; two elements of each.
        const View target{1, Buffer::window_data, 256, 1, 4, 4};
        const View source{0, Buffer::window_data, 256, 1, 4, 4};
        channel.write_value_nbi(target, 0x3F803F80);
        channel.write_value_nbi({1, Buffer::window_data, 512, 1, 4, 4}, 0x40204020);
        channel.read_nbi(source, {1, Buffer::window_data, 512, 1, 4, 4});
        channel.drain();
        channel.write_reduce_nbi(target, source);
        core.pipe_barrier(Pipe::all);
      },
      [](Findings& findings, const std::byte* window, const std::byte*) {
        for (int i = 0; i < 2; ++i) {
          std::uint16_t code;
          std::memcpy(&code, window + 256 + 2 * i, 2);
          findings.expect_equal(decode_bf16(code), 3.5f, "the sum");
        }
      },
      {});
}

// The target says when it begins to compute, and computes for 150 ms: a transfer that waited for
// it would take as long. Others use this machine too: the median of several attempts counts.
TEST_P(Channels, APutAndItsFlushDoNotWaitForATargetThatComputes) {
  constexpr int kAttempts = 5;
  constexpr std::chrono::milliseconds kComputes(150);
  constexpr std::chrono::milliseconds kMax(10);
  const auto main = [&](HostRank& rank, Findings& findings) {
    const Windows windows = rank.allocate_windows(kBytes);
    std::vector<std::byte> local(kBytes, std::byte{0x5A});
    std::vector<Clock::duration> times;
    Launch launch;
    launch.blocks = 1;
    launch.epochs = kAttempts;
    launch.cube = [](CubeCore&) {};
    launch.vector = [&](VectorCore& core) {
      for (int turn = 1; turn <= kAttempts; ++turn) {
        if (rank.rank() == 1) {
          core.store_epoch(0, {EpochSlot::Kind::arrived, 1}, turn);
          const auto end = Clock::now() + kComputes;
          while (Clock::now() < end) {
          }
          core.wait_epoch({EpochSlot::Kind::arrived, 0}, turn);
          continue;
        }
        core.wait_epoch({EpochSlot::Kind::arrived, 1}, turn);
        const auto start = Clock::now();
        core.channel(1).write_nbi({1, Buffer::window_data, 0, 1, kBytes, kBytes},
                                  {0, Buffer::c, 0, 1, kBytes, kBytes});
        core.channel(1).drain();
        times.push_back(Clock::now() - start);
        core.store_epoch(1, {EpochSlot::Kind::arrived, 0}, turn);
      }
    };
    launch.extents[static_cast<std::size_t>(Buffer::c)].bytes = kBytes;
    launch.extents[static_cast<std::size_t>(Buffer::window_data)].bytes = kBytes;
    WorkerPool pool(1);
    LaunchSite site(rank, pool, std::move(launch), windows);
    Bindings bindings;
    bindings.local[static_cast<std::size_t>(Buffer::c)] = local.data();
    rank.meet("the start");
    site.run(bindings);
    rank.meet("the end");
    if (rank.rank() == 0) {
      std::ranges::sort(times);
      const Clock::duration time = times[kAttempts / 2];
      const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
      std::printf("%s: put and flush in %ld us\n", GetParam().c_str(), static_cast<long>(micros));
      std::fflush(stdout);
      findings.expect(time < kMax, "put and flush took ", micros, " us");
    } else {
      findings.expect(std::ranges::count(windows.addresses[1], windows.addresses[1] + kBytes,
                                         std::byte{0x5A}) == kBytes,
                      "the put did not come");
    }
    rank.free_windows(windows);
  };
  EXPECT_EQ(failures_of(run_test_world(GetParam(), 2, {.timeout_ms = 10000}, main)), "");
}

TEST_P(Channels, ANotificationComesBehindTheData) {
  const auto main = [](HostRank& rank, Findings& findings) {
    const Windows windows = rank.allocate_windows(kBytes);
    std::vector<std::byte> local(kBytes);
    Launch launch;
    launch.blocks = 1;
    launch.epochs = 300;
    launch.cube = [](CubeCore&) {};
    const View all{1, Buffer::window_data, 0, 1, kBytes, kBytes};
    launch.vector = [&](VectorCore& core) {
      for (int turn = 1; turn <= 200; ++turn) {
        const auto fill = static_cast<std::byte>(turn);
        if (rank.rank() == 0) {
          std::fill(local.begin(), local.end(), fill);
          const View own{0, Buffer::c, 0, 1, kBytes, kBytes};
          core.channel(1).write_notify_nbi(all, own, {EpochSlot::Kind::arrived, 0}, turn);
          core.wait_epoch({EpochSlot::Kind::arrived, 1}, turn);
          continue;
        }
        core.wait_epoch({EpochSlot::Kind::arrived, 0}, turn);
        for (std::int64_t i = 0; i < kBytes; ++i) {
          findings.expect(windows.addresses[1][i] == fill, "turn ", turn, " byte ", i);
        }
        core.store_epoch(0, {EpochSlot::Kind::arrived, 1}, turn);
      }
    };
    launch.extents[static_cast<std::size_t>(Buffer::c)].bytes = kBytes;
    launch.extents[static_cast<std::size_t>(Buffer::window_data)].bytes = kBytes;
    WorkerPool pool(1);
    LaunchSite site(rank, pool, std::move(launch), windows);
    Bindings bindings;
    bindings.local[static_cast<std::size_t>(Buffer::c)] = local.data();
    site.run(bindings);
    rank.meet("the end");
    rank.free_windows(windows);
  };
  EXPECT_EQ(failures_of(run_test_world(GetParam(), 2, {.timeout_ms = 10000}, main)), "");
}

}  // namespace
}  // namespace tandem::host
