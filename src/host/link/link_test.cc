// SPDX-License-Identifier: Apache-2.0
// A link whose peer is this test: it says nothing, or what it must not.
#include "host/link/link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "base/strings.h"
#include "host/host_rank.h"
#include "host/transport/own_windows.h"
#include "host/transport/tcp_streams.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

using std::chrono::milliseconds;

class LinkToATest : public testing::Test {
 protected:
  LinkToATest() : control_(std::make_unique<ControlArea>()) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    peer_ = Socket(ends[1]);
    window_ = windows_.reserve(0, 4096);
    std::vector<Socket> sockets(2);
    sockets[1] = Socket(ends[0]);
    const Member member{.pid = getpid(), .host = "here", .identity = "same", .contact = ""};
    link_ = std::make_unique<Link>(
        *control_, windows_, make_tcp_streams(std::move(sockets)),
        LinkOptions{.rank = 0, .members = {member, member}, .silence_limit = milliseconds(1200)});
  }

  ~LinkToATest() override { peer_.close(); }  // else the link waits for a farewell

  void say(FrameHeader header, const std::string& payload = "") {
    header.payload_bytes = payload.size();
    const auto limit = Clock::now() + std::chrono::seconds(1);
    const std::string bytes =
        std::string(reinterpret_cast<const char*>(&header), sizeof header) + payload;
    EXPECT_TRUE(write_all(peer_, bytes.data(), bytes.size(), limit));
  }

  // Waits until the link takes the peer for lost, and returns why.
  std::string why_lost() {
    RankArea& area = control_->ranks[1];
    const auto deadline = Clock::now() + std::chrono::seconds(5);
    while (area.state.load() != RankState::dead && Clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(area.state.load(), RankState::dead);
    EXPECT_EQ(control_->poison.load(), 2u);
    return {area.report, area.report_bytes.load()};
  }

  std::unique_ptr<ControlArea> control_;
  OwnWindows windows_;
  WindowRange window_;
  Socket peer_;
  std::unique_ptr<Link> link_;
};

TEST_F(LinkToATest, APeerThatSaysNothingIsLostAtTheLimitAndNotBefore) {
  const auto start = Clock::now();
  EXPECT_NE(why_lost().find("nothing was heard of it for"), std::string::npos);
  const auto waited = Clock::now() - start;
  EXPECT_GT(waited, milliseconds(1100));
  EXPECT_LT(waited, milliseconds(3000));
}

TEST_F(LinkToATest, AHeartbeatIsEnoughToBeAlive) {
  for (int beat = 0; beat < 8; ++beat) {
    say({.type = FrameType::heartbeat});
    std::this_thread::sleep_for(milliseconds(250));
  }
  EXPECT_EQ(control_->poison.load(), 0u);
  EXPECT_LT(link_->silence(1), milliseconds(700));
}

TEST_F(LinkToATest, AnEndWithoutAGoodbyeIsALoss) {
  peer_.close();
  EXPECT_EQ(why_lost(), "its connection ended: its process has ended");
}

TEST_F(LinkToATest, AnEndAfterAGoodbyeIsNone) {
  say({.type = FrameType::goodbye});
  peer_.close();
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_EQ(control_->ranks[1].state.load(), RankState::finished);
  EXPECT_EQ(control_->poison.load(), 0u);
}

TEST_F(LinkToATest, AWriteInsideTheWindowArrivesAndOneOutsideEndsTheStream) {
  say({.type = FrameType::write, .rows = {window_.offset + 8, 1, 5, 5}}, "bytes");
  say({.type = FrameType::word, .kind = 0, .id = 1, .value = 7});
  const auto deadline = Clock::now() + std::chrono::seconds(5);
  while (control_->ranks[0].arrived[1].value.load() != 7 && Clock::now() < deadline) {
  }
  EXPECT_EQ(std::memcmp(windows_.address_of(window_) + 8, "bytes", 5), 0);
  say({.type = FrameType::write, .rows = {window_.offset + window_.bytes - 4, 1, 5, 5}}, "bytes");
  EXPECT_EQ(why_lost(), "it sent what makes no sense");
}

TEST_F(LinkToATest, NoWordBeyondTheAreaIsStored) {
  say({.type = FrameType::word, .kind = 0, .id = kRanksMax, .value = 7});
  EXPECT_EQ(why_lost(), "it sent what makes no sense");
}

TEST_F(LinkToATest, AnAbortIsHeardWithItsReason) {
  say({.type = FrameType::abort}, "rank 1: no memory");
  const auto deadline = Clock::now() + std::chrono::seconds(5);
  while (control_->poison.load() == 0 && Clock::now() < deadline) {
  }
  const RankArea& area = control_->ranks[1];
  EXPECT_EQ(area.state.load(), RankState::failed);
  EXPECT_EQ(std::string(area.report, area.report_bytes.load()), "rank 1: no memory");
}

// Two peers, which are this test.
class TwoPeers final : public Transport {
 public:
  TwoPeers() {
    std::vector<Socket> sockets(3);
    for (const int peer : {1, 2}) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
      sockets[peer] = Socket(ends[0]);
      peers_[peer] = Socket(ends[1]);
    }
    const Member member{.pid = getpid(), .host = "here", .identity = "same", .contact = ""};
    link_ = std::make_unique<Link>(*control_, windows_, make_tcp_streams(std::move(sockets)),
                                   LinkOptions{.rank = 0, .members = {member, member, member}});
  }
  Socket& peer(int rank) { return peers_[rank]; }

  std::string_view name() const override { return "test"; }
  int ranks() const override { return 3; }
  ControlArea& control() override { return *control_; }
  Link* join(int, milliseconds) override { return link_.get(); }
  WindowRange reserve(int, std::int64_t) override { return {}; }
  std::byte* map(int, const WindowRange&) override { return nullptr; }
  void unmap(int, std::byte*, const WindowRange&) override {}
  void release(int, const WindowRange&) override {}

 private:
  std::unique_ptr<ControlArea> control_ = std::make_unique<ControlArea>();
  OwnWindows windows_;
  std::array<Socket, 3> peers_;
  std::unique_ptr<Link> link_;
};

// Rank 2 was killed when it had told rank 1 that it is there, and not yet rank 0.
TEST(MeetingOverALink, IsNotWaitedForWhereTheOneWhoIsMissingIsLost) {
  TwoPeers peers;
  HostRank rank(peers, 0, {.timeout_ms = 10000});
  const FrameHeader all_came{.type = FrameType::meeting, .id = 1, .value = 1};
  EXPECT_TRUE(
      write_all(peers.peer(1), &all_came, sizeof all_came, Clock::now() + std::chrono::seconds(1)));
  peers.peer(2).close();
  const auto start = Clock::now();
  try {
    rank.meet("a meeting");
    ADD_FAILURE() << "a meeting without rank 2";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::lost_rank);
    EXPECT_TRUE(std::string(error.what()).starts_with("rank 2 ")) << error.what();
  }
  EXPECT_LT(Clock::now() - start, milliseconds(3000));
  peers.peer(1).close();
}

TEST_F(LinkToATest, LeavingAPeerThatDoesNotAnswerTakesASecond) {
  const auto start = Clock::now();
  link_->leave();
  EXPECT_LT(Clock::now() - start, milliseconds(2500));
}

}  // namespace
}  // namespace tandem::host
