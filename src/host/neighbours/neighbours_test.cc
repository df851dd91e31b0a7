// SPDX-License-Identifier: Apache-2.0
#include "host/neighbours/neighbours.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>

namespace tandem::host {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kPage = 4096;

// A rank with an area of its own, as its process would have it.
struct Rank {
  explicit Rank(int number) : rank(number) {
    void* place =
        mmap(nullptr, sizeof(RankArea), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    area = new (place) RankArea();
    neighbours = std::make_unique<Neighbours>(rank, *area);
  }
  ~Rank() {
    neighbours.reset();
    munmap(area, sizeof(RankArea));
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  // How long it took.
  milliseconds meet(
      const std::vector<Member>& members, milliseconds patience,
      const std::function<bool()>& is_over = [] { return false; }) {
    const auto start = Clock::now();
    neighbours->meet(members, start + patience, is_over);
    return std::chrono::duration_cast<milliseconds>(Clock::now() - start);
  }

  int rank;
  RankArea* area;
  std::unique_ptr<Neighbours> neighbours;
};

std::vector<Member> members_of(std::initializer_list<const Rank*> ranks) {
  std::vector<Member> members;
  for (const Rank* rank : ranks) members.push_back({.door = rank->neighbours->door()});
  return members;
}

Member member_at(const std::string& door) { return {.door = door}; }

// A greeting of a rank and no memory with it.
void knock(const std::string& door, const std::string& text) {
  const Socket socket(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "tandem-" + door;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  ASSERT_EQ(connect(socket.file(), reinterpret_cast<sockaddr*>(&address),
                    offsetof(sockaddr_un, sun_path) + 1 + name.size()),
            0);
  ASSERT_GE(send(socket.file(), text.data(), text.size(), 0), 0);
}

TEST(Neighbours, WordsAndWindowsOfARankAreItsNeighboursMemory) {
  Rank a(0), b(1), c(2);
  const auto members = members_of({&a, &b, &c});
  std::vector<std::thread> threads;
  for (Rank* rank : {&a, &b, &c}) {
    threads.emplace_back([rank, &members] {
      EXPECT_LT(rank->meet(members, milliseconds(20000)), milliseconds(10000));
    });
  }
  for (std::thread& thread : threads) thread.join();
  Rank* const ranks[] = {&a, &b, &c};
  for (Rank* reader : ranks) {
    EXPECT_TRUE(reader->neighbours->any());
    for (Rank* owner : ranks) {
      RankArea* seen = reader->neighbours->area_of(owner->rank);
      ASSERT_NE(seen, nullptr) << reader->rank << " of " << owner->rank;
      const std::uint64_t value = 100 * owner->rank + reader->rank + 1;
      seen->arrived[reader->rank].value.store(value);
      EXPECT_EQ(owner->area->arrived[reader->rank].value.load(), value);
    }
  }
  constexpr std::int64_t kOffset = sizeof(RankArea) + 3 * kPage;
  ASSERT_EQ(a.neighbours->own().allocate(kOffset, kPage), 0);
  std::byte* own = a.neighbours->own().map(kOffset, kPage);
  std::byte* far = c.neighbours->map(0, kOffset, kPage);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(far[4095], std::byte{0});
  far[4095] = std::byte{0x5A};
  EXPECT_EQ(own[4095], std::byte{0x5A});
  munmap(own, kPage);
  munmap(far, kPage);
}

TEST(Neighbours, MemoryCannotBeCutUnderAReader) {
  Rank a(0);
  EXPECT_NE(ftruncate(a.neighbours->own().file(), kPage), 0);
  // A file that its owner could cut is not taken.
  EXPECT_FALSE(MemoryFile(Socket(memfd_create("unsealed", MFD_CLOEXEC))).open());
}

TEST(Neighbours, ARankOfAnotherHostIsNotWaitedFor) {
  Rank a(0);
  // Nobody listens there in this network namespace; a rank that shares nothing has no door.
  const std::string elsewhere(32, '7');
  const std::vector<Member> members{member_at(a.neighbours->door()), member_at(elsewhere),
                                    member_at("")};
  EXPECT_LT(a.meet(members, milliseconds(20000)), milliseconds(5000));
  EXPECT_FALSE(a.neighbours->any());
  EXPECT_EQ(a.neighbours->area_of(0), a.area);
  EXPECT_EQ(a.neighbours->area_of(1), nullptr);
}

TEST(Neighbours, StrangersAtTheDoorAreNotLetIn) {
  Rank a(0), b(1), impostor(1);
  const auto members = members_of({&a, &b});
  knock(a.neighbours->door(), "GET / HTTP/1.1");
  knock(a.neighbours->door(), "");
  // It says that it is rank 1, whose door is another one.
  impostor.meet(members_of({&a, &impostor}), milliseconds(50));
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(100));
    b.meet(members, milliseconds(20000));
  });
  a.meet(members, milliseconds(20000));
  other.join();
  RankArea* seen = a.neighbours->area_of(1);
  ASSERT_NE(seen, nullptr);
  seen->core[3].value.store(77);
  EXPECT_EQ(b.area->core[3].value.load(), 77u);
  EXPECT_EQ(impostor.area->core[3].value.load(), 0u);
}

TEST(Neighbours, APeerThatNeverComesIsWaitedForUntilTheWorldIsBroken) {
  Rank a(0), b(1);  // b has a door and does not open it
  const auto members = members_of({&a, &b});
  const auto broken = Clock::now() + milliseconds(200);
  EXPECT_LT(a.meet(members, milliseconds(20000), [=] { return Clock::now() >= broken; }),
            milliseconds(5000));
  EXPECT_EQ(a.neighbours->area_of(1), nullptr);
}

}  // namespace
}  // namespace tandem::host
