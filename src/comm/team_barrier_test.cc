// SPDX-License-Identifier: Apache-2.0
#include "comm/team_barrier.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/strings.h"
#include "machine/recording.h"
#include "plan/partition.h"

namespace tandem {
namespace {

struct Member {
  int rank = 0;
  int job = 0;
  VerbList verbs;
};

// Every job of every rank crosses the barriers `turns` times.
std::vector<Member> cross(int ranks, int jobs, int turns, BarrierLayout layout) {
  std::vector<Member> members;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int job = 0; job < jobs; ++job) members.push_back({rank, job, {}});
  }
  for (Member& member : members) {
    RecordingVector core(member.rank, member.job, member.verbs);
    TeamBarrier barrier(core, ranks, jobs, member.job, layout);
    for (int turn = 0; turn < turns; ++turn) {
      barrier.cross_device();
      barrier.cross_core();
    }
  }
  return members;
}

using Word = std::tuple<int, EpochSlot::Kind, int>;

Word word_of(const VerbRecord& record, int rank) {
  const bool stores = record.verb == Verb::store_epoch;
  return {stores ? record.peer : rank, record.epoch.kind, record.epoch.index};
}

TEST(TeamBarrier, EachWordHasOneWriterAndOneReaderAmongTheJobs) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int jobs = 1; jobs <= ranks; ++jobs) {
      std::map<Word, std::set<int>> writers;
      std::map<Word, std::set<int>> readers;
      for (const Member& member : cross(ranks, jobs, 2, BarrierLayout::per_peer)) {
        for (const VerbRecord& record : member.verbs) {
          const int who = member.rank * jobs + member.job;
          const bool stores = record.verb == Verb::store_epoch;
          (stores ? writers : readers)[word_of(record, member.rank)].insert(who);
        }
      }
      for (const auto& [word, who] : writers) EXPECT_EQ(who.size(), 1u);
      // Arrival words are polled by exactly the job that serves this peer.
      for (const auto& [word, who] : readers) {
        ASSERT_TRUE(writers.contains(word));
        if (std::get<1>(word) != EpochSlot::Kind::arrived) continue;
        ASSERT_EQ(who.size(), 1u);
        const Slice served = targets_of_job(ranks, jobs, *who.begin() % jobs);
        EXPECT_LE(served.first, std::get<2>(word));
        EXPECT_LT(std::get<2>(word), served.end());
      }
    }
  }
}

// cross_device: for all ranks r ≠ q: turn t of q ends only after r stored t for q.
TEST(TeamBarrier, EveryRankWaitsForEveryOtherOncePerTurn) {
  constexpr int kTurns = 3;
  for (int ranks : {1, 2, 5, 8}) {
    for (int jobs = 1; jobs <= ranks; ++jobs) {
      std::map<std::pair<int, int>, std::uint64_t> stored;  // {from, to} → highest
      std::map<std::pair<int, int>, std::uint64_t> awaited;
      for (const Member& member : cross(ranks, jobs, kTurns, BarrierLayout::per_peer)) {
        for (const VerbRecord& record : member.verbs) {
          if (record.epoch.kind != EpochSlot::Kind::arrived) continue;
          const bool stores = record.verb == Verb::store_epoch;
          auto& last = stores ? stored[{record.epoch.index, record.peer}]
                              : awaited[{record.epoch.index, member.rank}];
          EXPECT_EQ(record.value, ++last);
        }
      }
      EXPECT_EQ(stored, awaited);
      EXPECT_EQ(stored.size(), static_cast<std::size_t>(ranks * (ranks - 1)));
      for (const auto& [pair, last] : stored) {
        EXPECT_NE(pair.first, pair.second);
        EXPECT_EQ(last, static_cast<std::uint64_t>(kTurns));
      }
    }
  }
}

// Stores come before waits, or two ranks would wait for each other.
TEST(TeamBarrier, TellsBeforeItWaits) {
  for (const Member& member : cross(5, 2, 1, BarrierLayout::per_peer)) {
    bool waited = false;
    for (const VerbRecord& record : member.verbs) {
      if (record.epoch.kind != EpochSlot::Kind::arrived) break;
      if (record.verb == Verb::wait_epoch) waited = true;
      if (record.verb == Verb::store_epoch) {
        EXPECT_FALSE(waited);
      }
    }
    EXPECT_TRUE(waited);
  }
}

TEST(TeamBarrier, CoresOfARankMeetEachOther) {
  constexpr int kTurns = 3;
  for (const Member& member : cross(4, 3, kTurns, BarrierLayout::per_peer)) {
    std::uint64_t stored = 0;
    std::map<int, std::uint64_t> awaited;
    for (const VerbRecord& record : member.verbs) {
      if (record.epoch.kind != EpochSlot::Kind::core) continue;
      if (record.verb == Verb::store_epoch) {
        EXPECT_EQ(record.peer, member.rank);
        EXPECT_EQ(record.epoch.index, member.job);
        EXPECT_EQ(record.value, ++stored);
      } else {
        EXPECT_EQ(record.value, ++awaited[record.epoch.index]);
        EXPECT_EQ(record.value, stored);  // of the turn that this core has announced
      }
    }
    EXPECT_EQ(stored, static_cast<std::uint64_t>(kTurns));
    EXPECT_EQ(awaited.size(), 2u);
    EXPECT_FALSE(awaited.contains(member.job));
  }
}

TEST(TeamBarrier, CoresWithoutAJobPassThrough) {
  for (int job : {-1, 2, 7}) {
    VerbList verbs;
    RecordingVector core(0, 0, verbs);
    TeamBarrier barrier(core, 3, 2, job, BarrierLayout::per_peer);
    barrier.cross_device();
    barrier.cross_core();
    EXPECT_TRUE(verbs.empty());
  }
}

// What is wrong with a single slot: rank 2's word on rank 0 is written by both jobs of rank 2, so
// it moves on when the first of them arrives.
TEST(TeamBarrier, ASingleSlotHasSeveralWriters) {
  std::map<Word, std::set<int>> writers;
  for (const Member& member : cross(3, 2, 1, BarrierLayout::single_slot)) {
    for (const VerbRecord& record : member.verbs) {
      if (record.verb != Verb::store_epoch) continue;
      writers[word_of(record, member.rank)].insert(member.job);
    }
  }
  EXPECT_EQ((writers[{0, EpochSlot::Kind::arrived, 2}]), (std::set<int>{0, 1}));
}

TEST(TargetsOfJob, PartitionTheRanksContiguously) {
  for (int ranks = 1; ranks <= 64; ++ranks) {
    for (int jobs = 1; jobs <= ranks; ++jobs) {
      std::int64_t next = 0;
      for (int job = 0; job < jobs; ++job) {
        const Slice targets = targets_of_job(ranks, jobs, job);
        ASSERT_EQ(targets.first, next);
        ASSERT_GE(targets.count, ranks / jobs);
        ASSERT_LE(targets.count, ranks / jobs + 1);
        next = targets.end();
      }
      ASSERT_EQ(next, ranks);
    }
  }
}

}  // namespace
}  // namespace tandem
