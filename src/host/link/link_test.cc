// SPDX-License-Identifier: Apache-2.0
// A link whose peer is this test: it says nothing, or what it must not.
#include "host/link/link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/strings.h"
#include "host/transport/own_windows.h"
#include "host/transport/tcp_streams.h"

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

TEST_F(LinkToATest, LeavingAPeerThatDoesNotAnswerTakesASecond) {
  const auto start = Clock::now();
  link_->leave();
  EXPECT_LT(Clock::now() - start, milliseconds(2500));
}

}  // namespace
}  // namespace tandem::host
