// SPDX-License-Identifier: Apache-2.0
// The shadow finds exactly the conflicts that a record per byte finds.
#include "check/shadow.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "base/rng.h"

namespace tandem::check {
namespace {

constexpr std::int64_t kBytes = 40000;  // more than two pages
constexpr int kAgents = 6;

using Conflict = std::tuple<std::int64_t, std::uint32_t, std::uint32_t, bool>;  // byte, who, writes

// Knows of each agent everything up to a bound.
struct Known {
  std::array<std::uint32_t, kAgents> bound{};
  bool has(const Stamp& stamp) const { return bound[stamp.agent] >= stamp.epoch; }
};

class Gatherer final : public ShadowListener {
 public:
  explicit Gatherer(const Known& known) : known_(known) {}
  bool ordered(const Stamp& earlier) override { return known_.has(earlier); }
  void conflict(const Stamp& earlier, Earlier what, std::int64_t first, std::int64_t end) override {
    const bool writes = what == Earlier::write || what == Earlier::atomic;
    for (std::int64_t byte = first; byte < end; ++byte) {
      conflicts.emplace(byte, earlier.agent, earlier.epoch, writes);
    }
  }
  void uninitialised(std::int64_t first, std::int64_t end) override {
    for (std::int64_t byte = first; byte < end; ++byte) gaps.insert(byte);
  }
  std::set<Conflict> conflicts;
  std::set<std::int64_t> gaps;

 private:
  const Known& known_;
};

// The same, byte by byte.
class ByteShadow {
 public:
  void access(const sim::Access& range, const Stamp& stamp, const Known& known, Gatherer& out) {
    for (std::int64_t row = 0; row < range.rows; ++row) {
      for (std::int64_t i = 0; i < range.row_bytes; ++i) {
        touch(range.offset + row * range.pitch + i, range.kind, stamp, known, out);
      }
    }
  }
  std::int64_t first_gap() const {
    for (std::int64_t byte = 0; byte < kBytes; ++byte) {
      if (!bytes_[byte].initialised) return byte;
    }
    return -1;
  }

 private:
  struct Byte {
    Stamp write;
    std::vector<Stamp> readers;
    bool initialised = false;
    bool atomic = false;
  };

  void touch(std::int64_t at, sim::AccessKind kind, const Stamp& stamp, const Known& known,
             Gatherer& out) {
    Byte& byte = bytes_[at];
    const bool reads = kind == sim::AccessKind::read;
    const bool atomic = kind == sim::AccessKind::atomic;
    if ((reads || atomic) && !byte.initialised) out.gaps.insert(at);
    if (byte.write.agent != kNobody && !(atomic && byte.atomic) && !known.has(byte.write)) {
      out.conflicts.emplace(at, byte.write.agent, byte.write.epoch, true);
    }
    if (reads) {
      std::erase_if(byte.readers, [&](const Stamp& reader) { return known.has(reader); });
      byte.readers.push_back(stamp);
      return;
    }
    for (const Stamp& reader : byte.readers) {
      if (!known.has(reader)) out.conflicts.emplace(at, reader.agent, reader.epoch, false);
    }
    byte.readers.clear();
    byte.write = stamp;
    byte.atomic = atomic;
    byte.initialised = true;
  }

  std::vector<Byte> bytes_ = std::vector<Byte>(kBytes);
};

sim::Access draw_access(Rng& rng) {
  sim::Access access;
  const std::uint64_t kind = rng.below(5);
  access.kind = kind < 2   ? sim::AccessKind::read
                : kind < 4 ? sim::AccessKind::write
                           : sim::AccessKind::atomic;
  access.rows = 1 + static_cast<std::int64_t>(rng.below(6));
  access.row_bytes = 1 + static_cast<std::int64_t>(rng.below(90));
  access.pitch = access.row_bytes + static_cast<std::int64_t>(rng.below(3)) * 37;
  const std::int64_t span = (access.rows - 1) * access.pitch + access.row_bytes;
  // Around a page's end as often as anywhere else.
  const bool near = rng.below(2) == 0;
  const std::int64_t base = near ? 16384 - 300 : 0;
  const std::int64_t room = near ? 600 : kBytes - span;
  access.offset = base + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(room)));
  return access;
}

TEST(Shadow, FindsWhatARecordPerByteFinds) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    ShadowBuffer shadow(kBytes, false);
    ByteShadow oracle;
    Rng rng(seed);
    std::array<std::uint32_t, kAgents> epochs{};
    for (int i = 0; i < 1500; ++i) {
      const sim::Access access = draw_access(rng);
      Stamp stamp;
      stamp.agent = static_cast<std::uint32_t>(rng.below(kAgents));
      stamp.epoch = ++epochs[stamp.agent];
      Known known;
      for (int agent = 0; agent < kAgents; ++agent) {
        // Mostly everything, sometimes only what is older.
        const std::uint64_t lag = rng.below(3) == 0 ? rng.below(20) : 0;
        known.bound[agent] =
            epochs[agent] - static_cast<std::uint32_t>(std::min<std::uint64_t>(lag, epochs[agent]));
      }
      Gatherer got(known), want(known);
      shadow.access(access, stamp, got);
      oracle.access(access, stamp, known, want);
      ASSERT_EQ(got.conflicts, want.conflicts) << "seed " << seed << " access " << i;
      ASSERT_EQ(got.gaps, want.gaps) << "seed " << seed << " access " << i;
    }
    EXPECT_EQ(shadow.first_gap().first, oracle.first_gap());
  }
}

TEST(Shadow, StaysSmallWhereAccessesAreRegular) {
  ShadowBuffer shadow(1 << 20, false);
  Known known;
  known.bound.fill(1000000);
  Gatherer nothing(known);
  for (std::uint32_t i = 0; i < 1024; ++i) {
    shadow.access({{}, sim::AccessKind::write, i * 1024, 1, 1024, 1024}, {0, 1, 0, 0}, nothing);
  }
  EXPECT_EQ(shadow.segment_count(), 64u);  // one a page
  EXPECT_EQ(shadow.first_gap().first, -1);
}

TEST(Shadow, PoisonedMemoryMustBeWrittenAgain) {
  ShadowBuffer shadow(100, false);
  Known known;
  known.bound.fill(10);
  Gatherer before(known), after(known);
  shadow.access({{}, sim::AccessKind::write, 0, 1, 100, 100}, {0, 1, 0, 0}, before);
  shadow.access({{}, sim::AccessKind::read, 10, 1, 5, 5}, {1, 1, 0, 0}, before);
  EXPECT_TRUE(before.gaps.empty());
  shadow.poison();
  shadow.access({{}, sim::AccessKind::read, 10, 1, 5, 5}, {1, 2, 0, 0}, after);
  EXPECT_EQ(after.gaps.size(), 5u);
}

}  // namespace
}  // namespace tandem::check
