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

// Runs a member on each thread and returns what each one learned, or its error.
std::vector<std::string> meet(const std::vector<RendezvousSpec>& specs) {
  std::vector<std::string> learned(specs.size());
  Socket listener = listen_on({"127.0.0.1", "0"});
  const SocketAddress root = local_address(listener);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    threads.emplace_back([&, i] {
      RendezvousSpec spec = specs[i];
      spec.root = root;
      spec.contact = [&spec](const Socket&) {
        // Any bytes, also those that end lines and texts.
        return std::string("\n\0\xff", 3) + std::to_string(spec.rank);
      };
      try {
        const Rendezvous met = meet_members(spec, spec.rank == 0 ? std::move(listener) : Socket());
        for (const Member& member : met.members) learned[i] += member.contact.substr(3) + ' ';
      } catch (const Error& error) {
        learned[i] = error.what();
      }
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
  std::vector<RendezvousSpec> specs = {spec_of(0, 2), spec_of(1, 2), spec_of(1, 2)};
  specs[1].job = "other";
  const auto learned = meet(specs);
  EXPECT_EQ(learned[0], "0 1 ");
  EXPECT_NE(learned[1].find("the connection ended"), std::string::npos) << learned[1];
  EXPECT_EQ(learned[2], "0 1 ");
}

}  // namespace
}  // namespace tandem::host
