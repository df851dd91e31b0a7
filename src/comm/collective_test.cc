// SPDX-License-Identifier: Apache-2.0
// Every registered hook moves every byte once to where it belongs, and touches nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/strings.h"
#include "comm/collective_comm.h"
#include "comm/registry.h"
#include "machine/recording.h"

namespace tandem {
namespace {

constexpr std::byte kPoison{0xA5};
constexpr std::int64_t kCanaryBytes = 64;

// The memory of all ranks, and how often each byte was written by transfers.
class Memory {
 public:
  void add(int rank, Buffer buffer, std::int64_t bytes) {
    Range& range = ranges_[{rank, buffer}];
    range.bytes.assign(bytes + 2 * kCanaryBytes, kPoison);
    range.writes.assign(range.bytes.size(), 0);
  }
  std::byte& at(int rank, Buffer buffer, std::int64_t offset) {
    return ranges_.at({rank, buffer}).bytes.at(offset + kCanaryBytes);
  }
  void copy(const View& destination, const View& source) {
    ASSERT_EQ(destination.rows, source.rows);
    ASSERT_EQ(destination.row_bytes, source.row_bytes);
    Range& range = ranges_.at({destination.rank, destination.buffer});
    for (std::int64_t row = 0; row < source.rows; ++row) {
      for (std::int64_t byte = 0; byte < source.row_bytes; ++byte) {
        const std::int64_t to = destination.offset + row * destination.pitch + byte;
        const std::int64_t from = source.offset + row * source.pitch + byte;
        range.bytes.at(to + kCanaryBytes) = at(source.rank, source.buffer, from);
        ++range.writes.at(to + kCanaryBytes);
      }
    }
  }
  void clear_writes() {
    for (auto& [place, range] : ranges_) std::ranges::fill(range.writes, 0);
  }
  friend bool operator==(const Memory&, const Memory&) = default;

 private:
  struct Range {
    std::vector<std::byte> bytes;
    std::vector<int> writes;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::map<std::pair<int, Buffer>, Range> ranges_;
};

class MemoryChannel final : public Channel {
 public:
  explicit MemoryChannel(Memory& memory) : memory_(memory) {}
  void write_nbi(View destination, View source, Site) override { move(destination, source); }
  void read_nbi(View destination, View source, Site) override { move(destination, source); }
  void write_notify_nbi(View, View, EpochSlot, std::uint64_t, Site) override { unexpected(); }
  void write_reduce_nbi(View, View, Site) override { unexpected(); }
  void write_value_nbi(View, std::uint32_t, Site) override { unexpected(); }
  std::uint64_t fetch_add(View, std::uint64_t, Site) override {
    unexpected();
    return 0;
  }
  void drain(Site) override {}

 private:
  void move(const View& destination, const View& source) {
    EXPECT_GT(source.bytes(), 0) << "a transfer of nothing";
    memory_.copy(destination, source);
  }
  void unexpected() { ADD_FAILURE() << "hooks use write_nbi and read_nbi"; }

  Memory& memory_;
};

// A vector core whose transfers happen at once and whose waits don't wait: ranks run one by one.
class MovingVector final : public VectorCore {
 public:
  MovingVector(int rank, int block, Memory& memory) : VectorCore(rank, block), channel_(memory) {}
  void set_flag(Pipe, FlagId, Site) override {}
  void wait_flag(FlagId, Site) override {}
  void gate(Pipe, FlagId, Site) override {}
  void sync_all(Site) override {}
  void pipe_barrier(Pipe, Site) override {}
  void set_event(EventKind, int, Site) override {}
  void wait_event(EventKind, int, Site) override {}
  void scalar(ScalarWork, Site) override {}
  Channel& channel(int peer) override {
    EXPECT_NE(peer, rank()) << "a transfer with itself";
    return channel_;
  }
  void load(UbTensor, View, Site) override {}
  void accumulate(UbTensor, UbTensor, UbTensor, Accumulate, Site) override {}
  void convert(UbTensor, UbTensor, Site) override {}
  void store(View, UbTensor, Site) override {}
  void store_epoch(int, EpochSlot, std::uint64_t, Site) override {}
  void wait_epoch(EpochSlot, std::uint64_t, Site) override {}

 private:
  MemoryChannel channel_;
};

// A random geometry. Local chunks lie one after the other, or side by side in wide rows.
CommPlan random_plan(Hook hook, Rng& rng) {
  CommPlan plan;
  plan.hook = hook;
  plan.ranks = 1 + static_cast<int>(rng.below(8));
  plan.local = is_put(hook) ? Buffer::a : Buffer::c;
  const bool gather = hook == Hook::all_gather_put || hook == Hook::all_gather_get;
  const std::int64_t same_rows = rng.below(12);
  std::int64_t rows_max = 0;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    // Every rank of a gather receives the same rows.
    plan.chunk_rows.push_back(gather ? same_rows : static_cast<std::int64_t>(rng.below(12)));
    plan.row_bytes.push_back(rng.below(9));
    rows_max = std::max(rows_max, plan.chunk_rows.back());
  }
  const int rounds = 1 + static_cast<int>(rng.below(7));
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t first = rows_max * round / rounds;
    plan.slices.push_back({first, rows_max * (round + 1) / rounds - first});
  }
  const int slot_choices[] = {0, 1, 2, rounds};
  plan.slots = slot_choices[rng.below(4)];
  const bool side_by_side = rng.below(2) == 1;
  std::int64_t next_row = 0;
  std::int64_t next_column = 3;  // a margin that nobody may touch
  for (int rank = 0; rank < plan.ranks; ++rank) {
    plan.local_row.push_back(side_by_side ? 0 : next_row);
    plan.local_column.push_back(side_by_side ? next_column : 3);
    next_row += rows_max;
    next_column += std::ranges::max(plan.row_bytes) + 1;
  }
  plan.local_pitch.assign(plan.ranks, next_column + 2);
  lay_out_window(plan);
  return plan;
}

std::int64_t local_bytes(const CommPlan& plan, int rank) {
  const std::int64_t rows = std::ranges::max(plan.chunk_rows);
  return (std::ranges::max(plan.local_row) + rows) * plan.local_pitch[rank];
}

// A byte that says where it comes from and where it goes.
std::byte code(int source, int destination, std::int64_t row, std::int64_t column) {
  return static_cast<std::byte>((source * 61 + destination * 17 + row * 7 + column * 3 + 1) & 0xFF);
}

// Where row `row` of the chunk from `source` to `destination` lies, in the put's source or the
// get's destination, written out once more.
std::int64_t local_offset(const CommPlan& plan, int source, int destination, std::int64_t row) {
  const int self = is_put(plan.hook) ? source : destination;
  const int peer = is_put(plan.hook) ? destination : source;
  return (plan.local_row[peer] + row) * plan.local_pitch[self] + plan.local_column[peer];
}

std::int64_t window_offset(const CommPlan& plan, int source, int destination, int round,
                           std::int64_t row) {
  const int owner = is_put(plan.hook) ? destination : source;
  const int other = is_put(plan.hook) ? source : destination;
  if (plan.slots == 0) return other * plan.part_bytes + row * plan.row_bytes[source];
  const std::int64_t slot = round % plan.slots;
  const std::int64_t in_slice = (row - plan.slices[round].first) * plan.row_bytes[source];
  switch (plan.hook) {
    case Hook::all_gather_get:
      return slot * plan.part_bytes + in_slice;
    case Hook::all_to_all_get:
      return (slot * plan.ranks + other) * plan.part_bytes + in_slice;
    case Hook::all_to_all_put:
    case Hook::all_gather_put:
      return (slot * (plan.ranks - 1) + (other > owner ? other - 1 : other)) * plan.part_bytes +
             in_slice;
  }
  return -1;
}

// Each byte of one round, with both of its places.
template <typename Visit>
void visit_round(const CommPlan& plan, int round, const Visit& visit) {
  for (int source = 0; source < plan.ranks; ++source) {
    for (int destination = 0; destination < plan.ranks; ++destination) {
      if (source == destination) continue;
      const Slice& slice = plan.slices[round];
      for (std::int64_t row = slice.first; row < slice.end(); ++row) {
        if (row >= plan.chunk_rows[destination]) continue;
        for (std::int64_t column = 0; column < plan.row_bytes[source]; ++column) {
          const std::int64_t local = local_offset(plan, source, destination, row) + column;
          const std::int64_t window = window_offset(plan, source, destination, round, row) + column;
          // An all-gather sends everybody the same.
          const bool gather = plan.hook == Hook::all_gather_get && plan.slots > 0;
          visit(source, destination, local, window,
                code(source, gather ? 0 : destination, row, column));
        }
      }
    }
  }
}

// Drives all ranks and jobs through a plan, round by round.
class Exchange {
 public:
  Exchange(const CommPlan& plan, int jobs) : plan_(plan), jobs_(jobs) {
    for (int rank = 0; rank < plan.ranks; ++rank) {
      memory_.add(rank, plan.local, local_bytes(plan, rank));
      memory_.add(rank, plan.window, plan.window_bytes);
      // One core more than there are jobs: it must stay idle.
      for (int job = 0; job <= jobs; ++job)
        cores_.push_back(std::make_unique<Job>(*this, rank, job));
    }
  }

  void run() {
    for (auto& job : cores_) job->comm.init(BarrierMode::device);
    for (int round = 0; round < plan_.rounds(); ++round) {
      fill_sources(round);
      Memory expected = memory_;
      expect_round(expected, round);
      for (auto& job : cores_) job->comm.commit(BarrierMode::device);
      for (auto& job : cores_) job->comm.wait(BarrierMode::device);
      ASSERT_TRUE(memory_ == expected) << "round " << round;
      memory_.clear_writes();
    }
    const Memory before = memory_;
    for (auto& job : cores_) job->comm.commit(BarrierMode::none);  // no round is left
    for (auto& job : cores_) job->comm.finalize(BarrierMode::device);
    ASSERT_TRUE(memory_ == before);
    check_targets();
  }

 private:
  struct Job {
    Job(Exchange& owner, int rank, int job)
        : core(rank, job, owner.memory_),
          recorder(rank, job, verbs, &core),
          barrier(recorder, owner.plan_.ranks, owner.jobs_, job, BarrierLayout::per_peer),
          comm(recorder, owner.plan_, barrier, owner.jobs_, job) {}
    MovingVector core;
    VerbList verbs;
    RecordingVector recorder;
    TeamBarrier barrier;
    CollectiveComm comm;
  };

  // What is to travel: local rows of a put, window bytes of a get.
  void fill_sources(int round) {
    visit_round(plan_, round,
                [&](int source, int, std::int64_t local, std::int64_t window, std::byte value) {
                  const bool put = is_put(plan_.hook);
                  memory_.at(source, put ? plan_.local : plan_.window, put ? local : window) =
                      value;
                });
  }

  void expect_round(Memory& expected, int round) const {
    visit_round(
        plan_, round,
        [&](int source, int destination, std::int64_t local, std::int64_t window, std::byte) {
          const bool put = is_put(plan_.hook);
          const View to{
              destination, put ? plan_.window : plan_.local, put ? window : local, 1, 1, 1};
          const View from{source, put ? plan_.local : plan_.window, put ? local : window, 1, 1, 1};
          expected.copy(to, from);
        });
  }

  // The jobs of a rank share out its peers; a drain goes to each target once per wait.
  void check_targets() const {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      std::map<int, int> drains;
      for (const auto& job : cores_) {
        if (job->core.rank() != rank) continue;
        EXPECT_TRUE(job->core.block() < jobs_ || job->verbs.empty()) << "a core without a job";
        for (const VerbRecord& record : job->verbs) {
          if (record.verb == Verb::drain) ++drains[record.peer];
        }
      }
      ASSERT_EQ(drains.size(), static_cast<std::size_t>(plan_.ranks - 1));
      for (const auto& [peer, count] : drains) {
        EXPECT_NE(peer, rank);
        EXPECT_EQ(count, plan_.rounds());
      }
    }
  }

  const CommPlan& plan_;
  int jobs_;
  Memory memory_;
  std::vector<std::unique_ptr<Job>> cores_;
};

std::string describe(const CommPlan& plan, int jobs) {
  std::string text = cat(to_string(plan.hook), " R ", plan.ranks, " jobs ", jobs, " slots ",
                         plan.slots, " rounds ", plan.rounds(), " rows");
  for (std::int64_t rows : plan.chunk_rows) text += cat(" ", rows);
  text += " row bytes";
  for (std::int64_t bytes : plan.row_bytes) text += cat(" ", bytes);
  return text;
}

// after round t: destination = source for each byte of round t, everything else as before.
TEST(CollectiveComm, EveryByteArrivesOnceWhereItBelongs) {
  Rng rng(7);
  int geometries = 0;
  for (const HookEntry& hook : all_hooks()) {
    for (int draw = 0; draw < 60; ++draw) {
      const CommPlan plan = random_plan(hook.hook, rng);
      for (int jobs = 1; jobs <= plan.ranks; ++jobs) {
        SCOPED_TRACE(describe(plan, jobs));
        Exchange exchange(plan, jobs);
        exchange.run();
        if (testing::Test::HasFailure()) return;
        ++geometries;
      }
    }
  }
  EXPECT_GT(geometries, 4 * 60);
}

TEST(CollectiveComm, EveryHookIsRegisteredOnce) {
  const Hook hooks[] = {Hook::all_to_all_put, Hook::all_to_all_get, Hook::all_gather_put,
                        Hook::all_gather_get};
  ASSERT_EQ(all_hooks().size(), std::size(hooks));
  for (Hook hook : hooks) EXPECT_EQ(find_hook(hook).hook, hook);
}

// Three ranks, one job: the calls of each phase.
class CollectivePhases : public testing::Test {
 protected:
  std::string calls(Hook hook, const std::function<void(CollectiveComm&)>& phase) {
    CommPlan plan{.hook = hook,
                  .ranks = 3,
                  .slices = {{0, 2}},
                  .chunk_rows = {2, 2, 2},
                  .row_bytes = {4, 4, 0},
                  .local_row = {0, 2, 4},
                  .local_column = {0, 0, 0},
                  .local_pitch = {4, 4, 4}};
    lay_out_window(plan);
    VerbList verbs;
    RecordingVector core(0, 0, verbs);
    TeamBarrier barrier(core, 3, 1, 0, BarrierLayout::per_peer);
    CollectiveComm comm(core, plan, barrier, 1, 0);
    phase(comm);
    std::string text;
    for (const VerbRecord& record : verbs) {
      if (!text.empty()) text += ", ";
      text += to_string(record.verb);
      if (record.peer >= 0) text += cat(" ", record.peer);
      if (record.verb == Verb::store_epoch || record.verb == Verb::wait_epoch) {
        text += record.epoch.kind == EpochSlot::Kind::arrived ? " arrived " : " core ";
        text += std::to_string(record.epoch.index);
      }
    }
    return text;
  }
};

constexpr const char* kDevice =
    "store_epoch 1 arrived 0, store_epoch 2 arrived 0, wait_epoch arrived 1, wait_epoch arrived 2";
constexpr const char* kCore = "store_epoch 0 core 0";

TEST_F(CollectivePhases, PutsMeetTheRanksThenTheCores) {
  const Hook put = Hook::all_to_all_put;
  const std::string both = cat(kDevice, ", ", kCore);
  EXPECT_EQ(calls(put, [](auto& comm) { comm.init(BarrierMode::both); }), both);
  EXPECT_EQ(calls(put, [](auto& comm) { comm.init(BarrierMode::none); }), "");
  EXPECT_EQ(calls(put, [](auto& comm) { comm.commit(BarrierMode::both); }),
            "write_nbi 1, write_nbi 2");
  EXPECT_EQ(calls(put, [](auto& comm) { comm.wait(BarrierMode::both); }),
            "drain 1, drain 2, " + both);
  EXPECT_EQ(calls(put, [](auto& comm) { comm.wait(BarrierMode::core); }),
            cat("drain 1, drain 2, ", kCore));
  EXPECT_EQ(calls(put, [](auto& comm) { comm.finalize(BarrierMode::both); }), "");
}

TEST_F(CollectivePhases, GetsMeetTheCoresThenTheRanks) {
  const Hook get = Hook::all_to_all_get;
  const std::string both = cat(kCore, ", ", kDevice);
  EXPECT_EQ(calls(get, [](auto& comm) { comm.init(BarrierMode::both); }), "");
  // Rank 2 has nothing to give: row_bytes 0.
  EXPECT_EQ(calls(get, [](auto& comm) { comm.commit(BarrierMode::both); }), both + ", read_nbi 1");
  EXPECT_EQ(calls(get, [](auto& comm) { comm.wait(BarrierMode::both); }), "drain 1, drain 2");
  EXPECT_EQ(calls(get, [](auto& comm) { comm.finalize(BarrierMode::both); }), both);
  EXPECT_EQ(calls(get, [](auto& comm) { comm.finalize(BarrierMode::device); }), kDevice);
}

TEST_F(CollectivePhases, BehindTheLastRoundCommitDoesNothing) {
  for (const HookEntry& hook : all_hooks()) {
    const std::string once = calls(hook.hook, [](auto& comm) { comm.commit(BarrierMode::device); });
    EXPECT_NE(once, "");
    EXPECT_EQ(calls(hook.hook,
                    [](auto& comm) {
                      comm.commit(BarrierMode::device);
                      comm.commit(BarrierMode::device);
                    }),
              once);
  }
}

}  // namespace
}  // namespace tandem
