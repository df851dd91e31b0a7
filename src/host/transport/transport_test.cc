// SPDX-License-Identifier: Apache-2.0
// The contract of a transport, checked on every registered one.
#include "host/transport/transport.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "host/test_world.h"
#include "host/transport/limits.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

class TransportContract : public testing::TestWithParam<std::string> {
 protected:
  void expect_sound(int ranks, const TestMain& main) {
    EXPECT_EQ(failures_of(run_test_world(GetParam(), ranks, {.timeout_ms = 10000}, main)), "");
  }
};

// A byte that tells who wrote what where.
std::byte pattern(int writer, int owner, std::int64_t index) {
  return static_cast<std::byte>(1 + writer * 37 + owner * 11 + index * 3);
}

void fill_window(HostRank& rank, const Windows& windows, int owner, std::byte value,
                 std::int64_t bytes) {
  const std::vector<std::byte> values(bytes, value);
  rank.write_window(windows, owner, 0, values.data(), bytes);
}

bool is_zero(const std::byte* bytes, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (bytes[i] != std::byte{0}) return false;
  }
  return true;
}

TEST_P(TransportContract, NamesItselfAndCountsItsRanks) {
  const auto transport = make_test_transport(GetParam(), 5);
  const bool shares = GetParam().ends_with(kShared);
  EXPECT_EQ(cat(transport->name(), shares ? kShared : ""), GetParam());
  EXPECT_EQ(transport->ranks(), 5);
}

TEST_P(TransportContract, TheControlAreaStartsAsZeros) {
  const auto transport = make_test_transport(GetParam(), 3);
  const auto* bytes = reinterpret_cast<const std::byte*>(&transport->control());
  EXPECT_TRUE(is_zero(bytes, sizeof(ControlArea)));
}

TEST_P(TransportContract, ReservedMemoryIsZeroAndLargeEnough) {
  const auto transport = make_test_transport(GetParam(), 2);
  for (const std::int64_t bytes : {1, 4095, 4096, 4097, 3 * 65536 + 5}) {
    const WindowRange range = transport->reserve(0, bytes);
    EXPECT_GE(range.bytes, bytes);
    std::byte* address = transport->map(0, range);
    ASSERT_NE(address, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % 64, 0u);
    EXPECT_TRUE(is_zero(address, bytes));
    std::memset(address, 0x5A, bytes);
    transport->unmap(0, address, range);
    transport->release(0, range);
  }
}

TEST_P(TransportContract, NoBytesNeedNoMemory) {
  const auto transport = make_test_transport(GetParam(), 1);
  const WindowRange range = transport->reserve(0, 0);
  EXPECT_EQ(range.bytes, 0);
  std::byte* address = transport->map(0, range);
  transport->unmap(0, address, range);
  transport->release(0, range);
}

TEST_P(TransportContract, EveryRankReadsAndWritesTheWindowsOfAll) {
  constexpr std::int64_t kPart = 5000;  // of each writer in each window
  expect_sound(4, [](HostRank& rank, Findings& findings) {
    const Windows windows = rank.allocate_windows(4 * kPart);
    const int self = rank.rank();
    std::vector<std::byte> bytes(4 * kPart);
    for (int owner = 0; owner < 4; ++owner) {
      rank.read_window(windows, owner, self * kPart, bytes.data(), kPart);
      findings.expect(is_zero(bytes.data(), kPart), "the window of rank ", owner, " is not zero");
      for (std::int64_t i = 0; i < kPart; ++i) bytes[i] = pattern(self, owner, i);
      rank.write_window(windows, owner, self * kPart, bytes.data(), kPart);
    }
    rank.meet("the end of writing");
    for (int owner = 0; owner < 4; ++owner) {
      std::int64_t wrong = 0;
      rank.read_window(windows, owner, 0, bytes.data(), 4 * kPart);
      for (int writer = 0; writer < 4; ++writer) {
        for (std::int64_t i = 0; i < kPart; ++i) {
          wrong += bytes[writer * kPart + i] != pattern(writer, owner, i);
        }
      }
      findings.expect_equal(wrong, 0, cat("wrong bytes in the window of rank ", owner));
    }
    rank.meet("the end of reading");
    rank.free_windows(windows);
  });
}

TEST_P(TransportContract, RanksMayHaveWindowsOfDifferentSizeOrNone) {
  expect_sound(3, [](HostRank& rank, Findings& findings) {
    const std::int64_t bytes = rank.rank() * 10000;  // none on rank 0
    const Windows windows = rank.allocate_windows(bytes);
    for (int owner = 1; owner < 3; ++owner) {
      findings.expect(windows.ranges[owner].bytes >= owner * 10000, "the window of rank ", owner,
                      " has ", windows.ranges[owner].bytes, " bytes");
      const std::byte seven{7};
      if (rank.rank() == 0) rank.write_window(windows, owner, owner * 10000 - 1, &seven, 1);
    }
    rank.meet("the end of writing");
    if (bytes > 0) {
      findings.expect(windows.addresses[rank.rank()][bytes - 1] == std::byte{7},
                      "the last byte did not come");
    }
    rank.free_windows(windows);
  });
}

TEST_P(TransportContract, MemoryThatIsUsedAgainIsZeroAgain) {
  expect_sound(2, [](HostRank& rank, Findings& findings) {
    for (int turn = 0; turn < 20; ++turn) {
      const std::int64_t bytes = 1000 + turn * 3000;
      const Windows windows = rank.allocate_windows(bytes);
      const int peer = 1 - rank.rank();
      findings.expect(is_zero(windows.addresses[rank.rank()], bytes), "turn ", turn,
                      ": own memory is not zero");
      rank.meet("the end of reading");
      fill_window(rank, windows, peer, std::byte{0xEE}, bytes);
      rank.meet("the end of writing");
      rank.free_windows(windows);
    }
  });
}

TEST_P(TransportContract, SeveralWindowsLiveBesideEachOther) {
  expect_sound(2, [](HostRank& rank, Findings& findings) {
    std::vector<Windows> all;
    for (int i = 0; i < 5; ++i) all.push_back(rank.allocate_windows(6000));
    const int peer = 1 - rank.rank();
    for (int i = 0; i < 5; ++i) {
      fill_window(rank, all[i], peer, static_cast<std::byte>(0x10 + i), 6000);
    }
    rank.meet("the end of writing");
    // A window in the middle goes; the others keep what they hold.
    rank.free_windows(all[2]);
    rank.meet("the end of freeing");
    for (int i : {0, 1, 3, 4}) {
      const std::byte* own = all[i].addresses[rank.rank()];
      for (std::int64_t at = 0; at < 6000; ++at) {
        if (own[at] == static_cast<std::byte>(0x10 + i)) continue;
        findings.expect(false, "window ", i, " lost byte ", at);
        break;
      }
      rank.free_windows(all[i]);
    }
  });
}

TEST_P(TransportContract, HundredsOfWindowsComeAndGoAndBeginOnALine) {
  expect_sound(3, [](HostRank& rank, Findings& findings) {
    for (int turn = 0; turn < 300; ++turn) {
      const Windows windows = rank.allocate_windows(100 + 40 * turn);
      const int peer = (rank.rank() + 1) % 3;
      const auto value = static_cast<std::byte>(turn + rank.rank());
      rank.write_window(windows, peer, 99, &value, 1);
      rank.meet("the end of writing");
      const std::byte* own = windows.addresses[rank.rank()];
      findings.expect(reinterpret_cast<std::uintptr_t>(own) % 64 == 0, "a window is not aligned");
      findings.expect(own[99] == static_cast<std::byte>(turn + (rank.rank() + 2) % 3), "turn ",
                      turn, ": the byte of a peer is missing");
      findings.expect(own[98] == std::byte{0}, "turn ", turn, ": memory is not zero");
      rank.free_windows(windows);
    }
  });
}

TEST_P(TransportContract, OffsetsBeyond32BitsReachTheLastByte) {
  // Only memory that processes share takes pages that nobody touches.
  const bool is_lazy = GetParam() != "shm" && !GetParam().ends_with(kShared);
  const std::int64_t bytes = (std::int64_t{1} << (is_lazy ? 32 : 31)) + 64;
  if (available_bytes() < 2 * bytes) GTEST_SKIP() << "not enough memory";
  expect_sound(2, [bytes](HostRank& rank, Findings& findings) {
    const Windows windows = rank.allocate_windows(rank.rank() == 0 ? bytes : 0);
    const std::int64_t places[] = {0, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 31,
                                   bytes - 1};
    if (rank.rank() == 1) {
      for (const std::int64_t at : places) {
        const auto value = static_cast<std::byte>(at % 251 + 1);
        rank.write_window(windows, 0, at, &value, 1);
      }
    }
    rank.meet("the end of writing");
    for (const std::int64_t at : places) {
      std::byte value{};
      rank.read_window(windows, 0, at, &value, 1);
      findings.expect(value == static_cast<std::byte>(at % 251 + 1), "byte ", at, " is wrong");
    }
    rank.meet("the end of reading");
    rank.free_windows(windows);
  });
}

TEST_P(TransportContract, TooLargeAWindowIsAnErrorOfTheEnvironmentWithItsSize) {
  const auto transport = make_test_transport(GetParam(), 2);
  constexpr std::int64_t kBytes = std::int64_t{1} << 50;
  try {
    transport->reserve(1, kBytes);
    FAIL() << "2^50 bytes were reserved";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    const std::string text = error.what();
    EXPECT_NE(text.find(std::to_string(kBytes)), std::string::npos) << text;
    EXPECT_NE(text.find("rank 1"), std::string::npos) << text;
  }
  // The failure leaves nothing behind.
  const WindowRange range = transport->reserve(1, 100);
  std::byte* address = transport->map(1, range);
  EXPECT_TRUE(is_zero(address, 100));
  transport->unmap(1, address, range);
  transport->release(1, range);
}

INSTANTIATE_TEST_SUITE_P(All, TransportContract, testing::ValuesIn(built_transports()),
                         [](const auto& instance) { return instance.param; });

TEST(TransportRegistry, NamesAreUniqueAndDescribed) {
  std::set<std::string_view> names;
  for (const TransportEntry& entry : all_transports()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty());
  }
  EXPECT_GE(names.size(), 3u);
}

TEST(TransportRegistry, AnUnknownNameIsRefusedWithTheNamesThereAre) {
  try {
    make_transport("pigeon", 2);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    const std::string text = error.what();
    EXPECT_NE(text.find("pigeon"), std::string::npos) << text;
    for (const TransportEntry& entry : all_transports()) {
      EXPECT_NE(text.find(entry.name), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace tandem::host
