// SPDX-License-Identifier: Apache-2.0
// What the verbs mean in the simulated machine, whatever the schedule.
#include "sim/machine.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/rng.h"
#include "sim/test_program.h"

namespace tandem::sim {
namespace {

class Drawn final : public Schedule {
 public:
  explicit Drawn(std::uint64_t seed) : rng_(seed) {}
  std::size_t pick(const Machine&, const std::vector<int>& ready) override {
    return rng_.below(ready.size());
  }

 private:
  Rng rng_;
};

// Runs under the canonical schedule and 20 drawn ones: all end, or all get stuck.
bool ends(const Program& program) {
  bool first = false;
  for (std::uint64_t seed = 0; seed <= 20; ++seed) {
    Machine machine(program, {});
    Drawn drawn(seed);
    const bool ended = machine.run(seed == 0 ? nullptr : &drawn);
    if (seed == 0) first = ended;
    EXPECT_EQ(ended, first) << "seed " << seed;
  }
  return first;
}

int complaints(const Program& program, FindingCode code) {
  Complaints complaints;
  Machine machine(program, {&complaints});
  machine.run(nullptr);
  return complaints.count(code);
}

Program flags(int sets, int waits) {
  return make_program(1, 1,
                      {.cube =
                           [sets](CubeCore& core) {
                             for (int i = 0; i < sets; ++i) core.set_flag(Pipe::fix, FlagId{3});
                           },
                       .vector =
                           [waits](VectorCore& core) {
                             for (int i = 0; i < waits; ++i) core.wait_flag(FlagId{3});
                           }});
}

TEST(SimFlag, CountsEverySetOnce) {
  EXPECT_TRUE(ends(flags(3, 3)));
  EXPECT_FALSE(ends(flags(3, 4)));
}

TEST(SimFlag, WhatNobodyTookIsReportedAtTheEndOfTheLaunch) {
  EXPECT_EQ(complaints(flags(3, 2), FindingCode::flag_residue), 1);
  EXPECT_EQ(complaints(flags(3, 3), FindingCode::flag_residue), 0);
}

TEST(SimFlag, TheSixteenthUntakenCountOverflows) {
  EXPECT_EQ(complaints(flags(15, 0), FindingCode::flag_overflow), 0);
  EXPECT_EQ(complaints(flags(16, 0), FindingCode::flag_overflow), 1);
}

TEST(SimFlag, LargeIdsAreCutToFourBits) {
  const Program program =
      make_program(1, 1,
                   {.cube = [](CubeCore& core) { core.set_flag(Pipe::fix, FlagId{17}); },
                    .vector = [](VectorCore& core) { core.wait_flag(FlagId{1}); }});
  EXPECT_TRUE(ends(program));
  EXPECT_EQ(complaints(program, FindingCode::flag_range), 1);
}

// The vector core answers before it may load: only the queue behind the gate waits.
Program gated(bool only_the_pipe) {
  return make_program(1, 1,
                      {.cube =
                           [](CubeCore& core) {
                             core.wait_flag(FlagId{1});
                             core.set_flag(Pipe::fix, FlagId{0});
                           },
                       .vector =
                           [only_the_pipe](VectorCore& core) {
                             if (only_the_pipe) {
                               core.gate(Pipe::mte2, FlagId{0});
                             } else {
                               core.wait_flag(FlagId{0});
                             }
                             core.load(ub_floats(0, 8), bytes_of(0, Buffer::a, 0, 32));
                             core.set_flag(Pipe::mte3, FlagId{1});
                           }});
}

TEST(SimGate, HoldsOnlyItsPipe) {
  EXPECT_TRUE(ends(gated(true)));
  EXPECT_FALSE(ends(gated(false)));
}

TEST(SimGate, StopsTheScalarStreamOnOlderChips) {
  Program program = gated(true);
  program.profile.gate_blocks_all = true;
  EXPECT_FALSE(ends(program));
}

TEST(SimEvent, IsOneBit) {
  const auto sets = [](int count) {
    return make_program(1, 1, {.vector = [count](VectorCore& core) {
                          for (int i = 0; i < count; ++i) core.set_event(EventKind::mte2_v, 2);
                          core.wait_event(EventKind::mte2_v, 2);
                        }});
  };
  EXPECT_EQ(complaints(sets(1), FindingCode::event_double_set), 0);
  EXPECT_EQ(complaints(sets(2), FindingCode::event_double_set), 1);
  EXPECT_FALSE(ends(sets(0)));
}

TEST(SimEvent, HoldsOnlyTheWaitingPipe) {
  // The store behind the event can't go on, the scalar stream and its flag can.
  const Program program = make_program(1, 1,
                                       {.cube = [](CubeCore& core) { core.wait_flag(FlagId{0}); },
                                        .vector =
                                            [](VectorCore& core) {
                                              core.wait_event(EventKind::v_mte3, 0);
                                              core.set_flag(Pipe::mte2, FlagId{0});
                                              core.set_event(EventKind::v_mte3, 0);
                                            }});
  EXPECT_TRUE(ends(program));
}

TEST(SimSyncAll, NeedsEveryCoreOfItsKind) {
  const auto met_by = [](int members) {
    return make_program(1, 3, {.vector = [members](VectorCore& core) {
                          if (core.block() < members) core.sync_all();
                        }});
  };
  EXPECT_TRUE(ends(met_by(3)));
  EXPECT_FALSE(ends(met_by(2)));
}

TEST(SimSyncAll, IsMadeOfFlag14) {
  // The cube core's own use of the flag lets a vector core pass that the others have not met.
  const auto program = [](int id) {
    return make_program(1, 2,
                        {.cube = [id](CubeCore& core) { core.set_flag(Pipe::fix, FlagId{id}); },
                         .vector = [](VectorCore& core) { core.sync_all(); }});
  };
  EXPECT_EQ(complaints(program(14), FindingCode::flag_alias), 2);
  EXPECT_EQ(complaints(program(14), FindingCode::flag_reserved), 2);
  EXPECT_EQ(complaints(program(5), FindingCode::flag_alias), 0);
}

TEST(SimQueue, WorksWithRoomForOneOperation) {
  Program program = make_program(1, 2, {.vector = [](VectorCore& core) {
                                   for (int i = 0; i < 50; ++i) {
                                     core.load(ub_floats(0, 8), bytes_of(0, Buffer::a, 0, 32));
                                     core.set_event(EventKind::mte2_v, 0);
                                     core.wait_event(EventKind::mte2_v, 0);
                                     core.convert(ub_floats(64, 8), ub_floats(0, 8));
                                     core.set_event(EventKind::v_mte2, 0);
                                     core.wait_event(EventKind::v_mte2, 0);
                                   }
                                 }});
  for (int depth : {1, 2, 32}) {
    program.profile.queue_depth = depth;
    EXPECT_TRUE(ends(program)) << depth;
  }
}

// Rank 0 puts eight bytes, drains, tells rank 1, which copies them into its staging.
Program put(bool drains) {
  Program program =
      make_program(2, 1, {.vector = [drains](VectorCore& core) {
                     if (core.rank() == 0) {
                       core.channel(1).write_nbi(bytes_of(1, Buffer::window_data, 0, 8),
                                                 bytes_of(0, Buffer::staging, 0, 8));
                       if (drains) core.channel(1).drain();
                       core.store_epoch(1, {EpochSlot::Kind::arrived, 0}, 1);
                       core.channel(1).drain();
                     } else {
                       core.wait_epoch({EpochSlot::Kind::arrived, 0}, 1);
                       core.load(ub_floats(0, 2), bytes_of(1, Buffer::window_data, 0, 8));
                       core.pipe_barrier(Pipe::all);
                       core.store(bytes_of(1, Buffer::staging, 0, 8), ub_floats(0, 2));
                     }
                   }});
  program.values = true;
  program.before = [](Machine& machine, int rank, int) {
    std::memset(machine.memory(rank, Buffer::window_data), 0, kTestBytes);
    std::memset(machine.memory(rank, Buffer::staging), 7 - 6 * rank, kTestBytes);
  };
  return program;
}

// How many of the drawn schedules bring the sevens over.
int arrived(const Program& program, int schedules) {
  int count = 0;
  for (int seed = 0; seed < schedules; ++seed) {
    Machine machine(program, {});
    Drawn drawn(seed);
    EXPECT_TRUE(machine.run(&drawn));
    count += static_cast<int>(machine.memory(1, Buffer::staging)[0]) == 7 ? 1 : 0;
  }
  return count;
}

TEST(SimDrain, MakesTheTransferVisibleToWhoeverIsTold) {
  EXPECT_EQ(arrived(put(true), 60), 60);
  const int without = arrived(put(false), 60);
  EXPECT_GT(without, 0);
  EXPECT_LT(without, 60);
}

TEST(SimDrain, WhatItDoesNotCoverIsReported) {
  const Program program =
      make_program(2, 1, {.vector = [](VectorCore& core) {
                     if (core.rank() == 1) return;
                     core.channel(1).write_nbi(bytes_of(1, Buffer::window_data, 0, 8),
                                               bytes_of(0, Buffer::staging, 0, 8));
                   }});
  EXPECT_EQ(complaints(program, FindingCode::put_undrained), 1);
}

TEST(SimEpoch, StoresOfDifferentCoresArriveInAnyOrder) {
  const EpochSlot slot{EpochSlot::Kind::arrived, 0};
  const Program program = make_program(2, 2, {.vector = [slot](VectorCore& core) {
                                         if (core.rank() == 0) {
                                           core.store_epoch(1, slot, 1 + core.block());
                                         }
                                       }});
  int last_is_first = 0;
  for (int seed = 0; seed < 40; ++seed) {
    Machine machine(program, {});
    Drawn drawn(seed);
    ASSERT_TRUE(machine.run(&drawn));
    last_is_first += machine.epoch_word(1, slot) == 1 ? 1 : 0;
  }
  EXPECT_GT(last_is_first, 0);
  EXPECT_LT(last_is_first, 40);
}

TEST(SimEpoch, StoresOfOneCoreToOnePeerKeepTheirOrder) {
  const EpochSlot slot{EpochSlot::Kind::arrived, 0};
  const Program program = make_program(2, 1, {.vector = [slot](VectorCore& core) {
                                         if (core.rank() != 0) return;
                                         for (int i = 1; i <= 5; ++i) core.store_epoch(1, slot, i);
                                       }});
  for (int seed = 0; seed < 40; ++seed) {
    Machine machine(program, {});
    Drawn drawn(seed);
    ASSERT_TRUE(machine.run(&drawn));
    EXPECT_EQ(machine.epoch_word(1, slot), 5u);
  }
}

TEST(SimLaunch, StartsWhenAllCoresOfItsRankHaveEnded) {
  int ended[2] = {0, 0};
  Program program = make_program(2, 2, {.vector = [&ended](VectorCore& core) {
                                   if (core.block() == 1) core.pipe_barrier(Pipe::all);
                                   core.set_event(EventKind::mte2_v, 0);
                                   core.wait_event(EventKind::mte2_v, 0);
                                   core.pipe_barrier(Pipe::all);
                                   ++ended[core.rank()];
                                 }});
  program.launches = 3;
  program.before = [&ended](Machine&, int rank, int launch) {
    if (launch == 0) ended[rank] = 0;
    EXPECT_EQ(ended[rank], 2 * launch);
  };
  EXPECT_TRUE(ends(program));
  EXPECT_EQ(ended[0], 6);
  EXPECT_EQ(ended[1], 6);
}

TEST(SimBounds, AViewBeyondItsBufferIsReportedAndHasNoEffect) {
  const Program program =
      make_program(1, 1, {.vector = [](VectorCore& core) {
                     core.load(ub_floats(0, 8), bytes_of(0, Buffer::a, kTestBytes - 16, 32));
                     core.load(ub_floats(kTestBytes - 16, 8), bytes_of(0, Buffer::a, 0, 32));
                   }});
  EXPECT_EQ(complaints(program, FindingCode::out_of_bounds), 1);
  EXPECT_EQ(complaints(program, FindingCode::budget), 1);
}

}  // namespace
}  // namespace tandem::sim
