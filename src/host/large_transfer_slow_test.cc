// SPDX-License-Identifier: Apache-2.0
// One transfer of more bytes than 32 bits count, over every transport: written in one row, read
// back in many. 9 GB of memory are needed.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "host/launch_site.h"
#include "host/test_world.h"
#include "host/transport/limits.h"

namespace tandem::host {
namespace {

constexpr std::int64_t kRows = 1025;
constexpr std::int64_t kPitch = 4 << 20;
constexpr std::int64_t kRowBytes = kPitch - 64;  // of the rows that are read
constexpr std::int64_t kBytes = kRows * kPitch;
static_assert(kRows * kRowBytes > std::int64_t{1} << 32);

using Words = std::unique_ptr<std::uint64_t[]>;

std::uint64_t word_at(std::int64_t index) {
  return static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15u + 1;
}

Launch launch_of(const std::function<void(VectorCore&)>& kernel) {
  Launch launch;
  launch.blocks = 1;
  launch.epochs = 1;
  launch.cube = [](CubeCore&) {};
  launch.vector = kernel;
  for (const Buffer buffer : {Buffer::c, Buffer::window_data}) {
    launch.extents[static_cast<std::size_t>(buffer)].bytes = kBytes;
  }
  return launch;
}

// The first of `words` that is not the one of its place, where rows of `row_bytes` follow each
// other that lay `pitch` apart; −1 if there is none.
std::int64_t first_wrong(const std::uint64_t* words, std::int64_t rows, std::int64_t row_bytes,
                         std::int64_t pitch) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < row_bytes / 8; ++column) {
      const std::int64_t index = row * (row_bytes / 8) + column;
      if (words[index] != word_at(row * (pitch / 8) + column)) return index;
    }
  }
  return -1;
}

class LargeTransfers : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, LargeTransfers, testing::ValuesIn(built_transports()),
                         [](const auto& instance) { return instance.param; });

TEST_P(LargeTransfers, BringEveryByteAcross32Bits) {
  if (available_bytes() < 5 * (kBytes / 2)) GTEST_SKIP() << "not enough memory";
  const auto main = [](HostRank& rank, Findings& findings) {
    const bool writes = rank.rank() == 1;
    const Windows windows = rank.allocate_windows(writes ? 0 : kBytes);
    Words local(writes ? new std::uint64_t[kBytes / 8] : nullptr);
    for (std::int64_t i = 0; writes && i < kBytes / 8; ++i) local[i] = word_at(i);
    WorkerPool pool(1);
    Bindings bindings;
    bindings.local[static_cast<std::size_t>(Buffer::c)] = reinterpret_cast<std::byte*>(local.get());
    rank.meet("the start");
    LaunchSite write(rank, pool, launch_of([&](VectorCore& core) {
                       if (!writes) return;
                       core.channel(0).write_nbi({0, Buffer::window_data, 0, 1, kBytes, kBytes},
                                                 {1, Buffer::c, 0, 1, kBytes, kBytes});
                       core.channel(0).drain();
                     }),
                     windows);
    write.run(bindings);
    rank.meet("the end of writing");
    if (!writes) {
      const auto* words = reinterpret_cast<const std::uint64_t*>(windows.addresses[0]);
      findings.expect_equal(first_wrong(words, 1, kBytes, kBytes), -1, "written: a wrong word");
    }
    if (writes) std::memset(local.get(), 0xEE, kBytes);
    LaunchSite read(rank, pool, launch_of([&](VectorCore& core) {
                      if (!writes) return;
                      core.channel(0).read_nbi(
                          {1, Buffer::c, 0, kRows, kRowBytes, kRowBytes},
                          {0, Buffer::window_data, 0, kRows, kRowBytes, kPitch});
                      core.channel(0).drain();
                    }),
                    windows);
    read.run(bindings);
    rank.meet("the end of reading");
    if (writes) {
      findings.expect_equal(first_wrong(local.get(), kRows, kRowBytes, kPitch), -1,
                            "read: a wrong word");
      findings.expect_equal(local[kBytes / 8 - 1], 0xEEEEEEEEEEEEEEEEu, "the word behind them");
    }
    rank.free_windows(windows);
  };
  EXPECT_EQ(failures_of(run_test_world(GetParam(), 2, {.timeout_ms = 200000}, main)), "");
}

}  // namespace
}  // namespace tandem::host
