// SPDX-License-Identifier: Apache-2.0
#include "host/net/rendezvous.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/strings.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

using std::chrono::milliseconds;

TEST(SocketAddress, IsAHostAndAPort) {
  const auto shown = [](const std::string& text) {
    const auto address = parse_socket_address(text);
    return address ? to_string(*address) : "none";
  };
  for (const char* sound : {"node1:7000", "10.0.0.1:1", "[::1]:65535"}) {
    EXPECT_EQ(shown(sound), sound);
  }
  for (const char* wrong :
       {"", ":", "node1", "node1:", ":7000", "node1:0", "node1:65536", "node1:70x", "node1:-1"}) {
    EXPECT_EQ(shown(wrong), "none") << wrong;
  }
}

// One member: what it learned of all, or its error.
std::string learn(RendezvousSpec spec, Socket listener) {
  const auto given = spec.contact;
  spec.contact = [&spec, given](const Socket& local) {
    if (given) return given(local);
    // Any bytes, also those that end lines and texts.
    return std::string("\n\0\xff", 3) + std::to_string(spec.rank);
  };
  try {
    std::string learned;
    const Rendezvous met = meet_members(spec, std::move(listener));
    for (const Member& member : met.members) learned += member.contact.substr(3) + ' ';
    return learned;
  } catch (const Error& error) {
    return error.what();
  }
}

// All at once, each on a thread.
std::vector<std::string> meet(std::vector<RendezvousSpec> specs) {
  std::vector<std::string> learned(specs.size());
  Socket listener = listen_on({"127.0.0.1", "0"});
  for (RendezvousSpec& spec : specs) spec.root = local_address(listener);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    threads.emplace_back([&, i] {
      learned[i] = learn(specs[i], specs[i].rank == 0 ? std::move(listener) : Socket());
    });
  }
  threads.clear();
  return learned;
}

RendezvousSpec spec_of(int rank, int ranks) {
  return {.rank = rank, .ranks = ranks, .job = "test", .root = {}, .timeout = milliseconds(5000)};
}

TEST(Rendezvous, EveryMemberLearnsOfAll) {
  std::vector<RendezvousSpec> specs;
  for (int rank = 4; rank >= 0; --rank) specs.push_back(spec_of(rank, 5));
  for (const std::string& text : meet(specs)) EXPECT_EQ(text, "0 1 2 3 4 ");
}

TEST(Rendezvous, WhoNeverCameIsNamedToAllWhoDid) {
  std::vector<RendezvousSpec> specs = {spec_of(0, 4), spec_of(2, 4)};
  for (RendezvousSpec& spec : specs) spec.timeout = milliseconds(300);
  for (const std::string& text : meet(specs)) {
    EXPECT_NE(text.find("waited 300 ms"), std::string::npos) << text;
    EXPECT_NE(text.find("for: rank 1 (never came), rank 3 (never came)"), std::string::npos)
        << text;
  }
}

TEST(Rendezvous, AMemberOfAnotherJobIsAStranger) {
  Socket listener = listen_on({"127.0.0.1", "0"});
  RendezvousSpec spec = spec_of(0, 2);
  spec.root = local_address(listener);
  std::string learned;
  std::jthread root([&, spec] { learned = learn(spec, std::move(listener)); });
  spec.rank = 1;
  spec.job = "other";
  const std::string stranger = learn(spec, Socket());
  EXPECT_NE(stranger.find("the connection ended"), std::string::npos) << stranger;
  spec.job = "test";
  EXPECT_EQ(learn(spec, Socket()), "0 1 ");
  root.join();
  EXPECT_EQ(learned, "0 1 ");
}

// The root itself, or another one, or both: each reason comes to all, and nobody waits.
TEST(Rendezvous, WhatOneRankLacksIsToldToAll) {
  for (const auto& poor : {std::vector<int>{0}, std::vector<int>{2}, std::vector<int>{0, 1}}) {
    std::vector<RendezvousSpec> specs = {spec_of(0, 3), spec_of(1, 3), spec_of(2, 3)};
    std::string wanted;
    for (const int rank : poor) {
      const std::string reason = cat("rank ", rank, ": too few of all");
      wanted += (wanted.empty() ? "" : "\n") + reason;
      specs[rank].contact = [reason](const Socket&) -> std::string {
        throw Error(ErrorKind::environment, reason);
      };
    }
    const auto start = Clock::now();
    for (const std::string& text : meet(specs)) EXPECT_EQ(text, wanted);
    EXPECT_LT(Clock::now() - start, milliseconds(2000));
  }
}

TEST(Rendezvous, WhoComesWithinAMomentHearsOfTheRefusalToo) {
  std::vector<RendezvousSpec> specs = {spec_of(0, 3), spec_of(1, 4), spec_of(2, 3)};
  specs[2].contact = [](const Socket&) {
    std::this_thread::sleep_for(milliseconds(100));
    return std::string("late");
  };
  for (const std::string& text : meet(specs)) {
    EXPECT_NE(text.find("was started for 4 ranks, rank 0 for 3"), std::string::npos) << text;
  }
}

// One of those who wait knows that there is no use, and so do the others.
TEST(Rendezvous, TheCheckEndsTheWaitOfAll) {
  for (const int knows : {0, 2}) {
    std::vector<RendezvousSpec> specs = {spec_of(0, 3), spec_of(2, 3)};
    for (RendezvousSpec& spec : specs) {
      const auto since = Clock::now() + milliseconds(spec.rank == knows ? 200 : 400);
      spec.check = [since] {
        if (Clock::now() >= since) throw Error(ErrorKind::lost_rank, "rank 1 is lost");
      };
    }
    const auto start = Clock::now();
    for (const std::string& text : meet(specs)) EXPECT_EQ(text, "rank 1 is lost");
    EXPECT_LT(Clock::now() - start, milliseconds(2000));
  }
  // Where the root says nothing, or nobody listens.
  Socket listener = listen_on({"127.0.0.1", "0"});
  RendezvousSpec spec = spec_of(1, 2);
  spec.root = local_address(listener);
  spec.check = [] { throw Error(ErrorKind::lost_rank, "rank 0 is lost"); };
  EXPECT_EQ(learn(spec, Socket()), "rank 0 is lost");
  listener.close();
  EXPECT_EQ(learn(spec, Socket()), "rank 0 is lost");
}

}  // namespace
}  // namespace tandem::host
