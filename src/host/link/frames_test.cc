// SPDX-License-Identifier: Apache-2.0
// What is posted to an outbox comes out of an inbox, wherever the stream is cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "base/rng.h"
#include "host/link/inbox.h"
#include "host/link/outbox.h"

namespace tandem::host {
namespace {

constexpr std::int64_t kMemoryBytes = 3 << 20;

// Puts rows into a memory of its own and keeps what else comes.
class Sink : public FrameSink {
 public:
  Destination place(const FrameHeader& header) override {
    if (header.type == FrameType::write) {
      if (header.rows.end() > kMemoryBytes) return {Destination::Kind::refused};
      return {Destination::Kind::rows, memory.data() + header.rows.offset, header.rows.pitch};
    }
    return {header.payload_bytes > 0 ? Destination::Kind::text : Destination::Kind::nowhere};
  }
  void take(const FrameHeader& header, std::string& text) override {
    if (header.type != FrameType::write) texts.push_back(text);
    types.push_back(header.type);
  }

  std::vector<std::byte> memory = std::vector<std::byte>(kMemoryBytes);
  std::vector<std::string> texts;
  std::vector<FrameType> types;
};

// Takes at most `limit` bytes of what the outbox has.
std::string take_bytes(Outbox& outbox, std::size_t limit) {
  std::string bytes;
  outbox.send_with([&](std::span<const iovec> pieces) {
    for (const iovec& piece : pieces) {
      const std::size_t part = std::min(piece.iov_len, limit - bytes.size());
      bytes.append(static_cast<const char*>(piece.iov_base), part);
    }
    return static_cast<std::int64_t>(bytes.size());
  });
  return bytes;
}

// Gives bytes to an inbox, in pieces of at most `limit`. False: they make no sense.
bool give_bytes(Inbox& inbox, std::string_view bytes, std::size_t limit) {
  while (!bytes.empty()) {
    const std::int64_t taken = inbox.receive_with([&](std::span<const iovec> pieces) {
      std::size_t used = 0;
      for (const iovec& piece : pieces) {
        const std::size_t part = std::min({piece.iov_len, bytes.size(), limit - used});
        std::memcpy(piece.iov_base, bytes.data(), part);
        bytes.remove_prefix(part);
        used += part;
      }
      return static_cast<std::int64_t>(used);
    });
    if (taken < 0) return false;
  }
  return true;
}

std::vector<std::byte> random_bytes(Rng& rng, std::int64_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.below(255) + 1);
  return bytes;
}

TEST(Frames, RowsAndTextsArriveWholeAndInOrderWhereverTheStreamIsCut) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const std::vector<std::byte> source = random_bytes(rng, kMemoryBytes);
    std::vector<std::byte> want(kMemoryBytes);
    Outbox outbox;
    std::vector<std::string> texts;
    for (int i = 0; i < 12; ++i) {
      const std::int64_t row_bytes = rng.below(3) == 0 ? rng.below(600'000) : rng.below(3000);
      const std::int64_t rows = 1 + rng.below(row_bytes > 3000 ? 3 : 700);
      const std::int64_t to_pitch = row_bytes + (rng.below(2) == 0 ? 0 : rng.below(90));
      const std::int64_t from_pitch = row_bytes + (rng.below(2) == 0 ? 0 : rng.below(90));
      const RemoteRows to{static_cast<std::int64_t>(rng.below(1000)), rows, row_bytes, to_pitch};
      if (to.end() > kMemoryBytes || (rows - 1) * from_pitch + row_bytes > kMemoryBytes) continue;
      outbox.post_rows({.type = FrameType::write, .rows = to}, source.data(), from_pitch);
      for (std::int64_t row = 0; row < rows; ++row) {
        std::memcpy(want.data() + to.offset + row * to_pitch, source.data() + row * from_pitch,
                    row_bytes);
      }
      texts.push_back(std::string(rng.below(5000), static_cast<char>('a' + i)));
      outbox.post({.type = FrameType::note}, texts.back());
    }
    Sink sink;
    Inbox inbox(sink);
    while (!outbox.empty()) {
      const std::string bytes = take_bytes(outbox, 1 + rng.below(400'000));
      ASSERT_TRUE(give_bytes(inbox, bytes, 1 + rng.below(100'000)));
    }
    ASSERT_EQ(sink.texts, texts);
    ASSERT_EQ(std::memcmp(sink.memory.data(), want.data(), kMemoryBytes), 0);
  }
}

TEST(Frames, DroppedMemoryIsNotReadAndTheStreamStaysWhole) {
  for (const std::size_t sent : {0, 30, 64, 65, 70'000, 131'136, 131'200}) {
    SCOPED_TRACE(sent);
    Outbox outbox;
    std::vector<std::byte> source(1 << 20, std::byte{7});
    const std::int64_t bytes = source.size();
    outbox.post_rows({.type = FrameType::write, .rows = {0, 1, bytes, bytes}}, source.data(),
                     bytes);
    outbox.post({.type = FrameType::word});
    outbox.post({.type = FrameType::meeting}, "kept");
    std::string stream = sent == 0 ? "" : take_bytes(outbox, sent);
    outbox.drop_memory();
    source.assign(source.size(), std::byte{9});  // as if it were somebody else's now
    outbox.post({.type = FrameType::word});
    outbox.post({.type = FrameType::abort}, "why");
    while (!outbox.empty()) stream += take_bytes(outbox, 1 << 20);
    Sink sink;
    Inbox inbox(sink);
    ASSERT_TRUE(give_bytes(inbox, stream, 50'000));
    EXPECT_EQ(sink.texts, (std::vector<std::string>{"kept", "why"}));
    for (const std::byte byte : sink.memory) ASSERT_NE(byte, std::byte{9});
  }
}

// Rows that the peer has asked for leave as they can; what this rank posts meanwhile does not wait
// for all of them, and each of both kinds keeps its order.
TEST(Frames, OwnFramesDoNotWaitForAnswersAndFlushesStayBehindTheirRows) {
  Outbox outbox;
  const std::vector<std::byte> source(1 << 20);
  const std::int64_t bytes = source.size();
  outbox.post_rows({.type = FrameType::read_data, .rows = {0, 1, bytes, bytes}}, source.data(),
                   bytes);
  outbox.post({.type = FrameType::flushed});
  std::string stream = take_bytes(outbox, 1000);
  outbox.post_rows({.type = FrameType::write, .rows = {0, 1, bytes, bytes}}, source.data(), bytes);
  outbox.post({.type = FrameType::word});
  outbox.post({.type = FrameType::goodbye});
  while (!outbox.empty()) stream += take_bytes(outbox, 1 << 20);
  Sink sink;
  Inbox inbox(sink);
  ASSERT_TRUE(give_bytes(inbox, stream, 1 << 20));
  const auto place_of = [&](FrameType type) {  // of the last one
    return std::find(sink.types.rbegin(), sink.types.rend(), type) - sink.types.rbegin();
  };
  EXPECT_EQ(sink.types.size(), 2 * (1 << 20) / kPayloadBytesMax + 3);
  EXPECT_EQ(place_of(FrameType::goodbye), 0);
  EXPECT_LT(place_of(FrameType::flushed), place_of(FrameType::read_data));
  EXPECT_LT(place_of(FrameType::word), place_of(FrameType::write));
  EXPECT_EQ(std::ranges::find(sink.types, FrameType::write) - sink.types.begin(), 1);
}

TEST(Frames, AShortFrameOvertakesLongAnswers) {
  Outbox outbox;
  const std::vector<std::byte> source(1 << 20);
  const std::int64_t bytes = source.size();
  outbox.post_rows({.type = FrameType::read_data, .rows = {0, 1, bytes, bytes}}, source.data(),
                   bytes);
  std::string stream = take_bytes(outbox, 1000);
  outbox.post({.type = FrameType::read, .rows = {0, 1, 8, 8}});
  while (!outbox.empty()) stream += take_bytes(outbox, 1 << 20);
  Sink sink;
  Inbox inbox(sink);
  ASSERT_TRUE(give_bytes(inbox, stream, 1 << 20));
  EXPECT_EQ(sink.types.at(1), FrameType::read);
}

TEST(Frames, APayloadThatIsLetGoTouchesNothingAnyMore) {
  Outbox outbox;
  const std::vector<std::byte> source(100'000, std::byte{7});
  outbox.post_rows({.type = FrameType::write, .rows = {0, 1, 100'000, 100'000}}, source.data(),
                   100'000);
  outbox.post({.type = FrameType::note}, "next");
  Sink sink;
  Inbox inbox(sink);
  ASSERT_TRUE(give_bytes(inbox, take_bytes(outbox, 50'064), 1 << 20));
  EXPECT_EQ(sink.memory[49'999], std::byte{7});
  inbox.let_go();
  while (!outbox.empty()) ASSERT_TRUE(give_bytes(inbox, take_bytes(outbox, 1 << 20), 1 << 20));
  EXPECT_EQ(sink.memory[50'000], std::byte{0});
  EXPECT_EQ(sink.texts, std::vector<std::string>{"next"});
}

TEST(Frames, HeadersThatMakeNoSenseEndTheStream) {
  const auto accepts = [](FrameHeader header) {
    Sink sink;
    Inbox inbox(sink);
    const std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    return give_bytes(inbox, bytes, 1000);
  };
  EXPECT_TRUE(accepts({.type = FrameType::note}));
  EXPECT_FALSE(accepts({.type = FrameType::note, .payload_bytes = ~std::uint64_t{0}}));
  EXPECT_FALSE(accepts({.type = FrameType::write, .rows = {-1, 1, 8, 8}, .payload_bytes = 8}));
  EXPECT_FALSE(accepts({.type = FrameType::write, .rows = {0, 2, 8, 8}, .payload_bytes = 8}));
  EXPECT_FALSE(
      accepts({.type = FrameType::write, .rows = {kMemoryBytes, 1, 8, 8}, .payload_bytes = 8}));
  constexpr std::int64_t kHuge = std::int64_t{1} << 39;
  EXPECT_FALSE(accepts({.type = FrameType::read, .rows = {0, kHuge, 8, kHuge}}));
  EXPECT_FALSE(accepts({.type = FrameType::read, .rows = {0, kHuge, kHuge, 0}}));
}

}  // namespace
}  // namespace tandem::host
