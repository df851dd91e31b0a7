// SPDX-License-Identifier: Apache-2.0
// Schedules are determined by their specification; where a run is confluent they all agree.
#include "check/schedules.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "check/explorer.h"
#include "check/run.h"
#include "sim/test_program.h"

namespace tandem::check {
namespace {

using sim::bytes_of;
using sim::make_program;
using sim::ub_floats;

// Ranks exchange rows in rounds; cores of a rank meet; flags, gates, events, transfers and words.
sim::Program sound_program() {
  return make_program(
      3, 2,
      {.cube =
           [](CubeCore& core) {
             for (int round = 0; round < 3; ++round) {
               core.gate(Pipe::mte2, FlagId{0});
               const Fragment rows{bytes_of(core.rank(), Buffer::window_data, 64 * round, 64),
                                   bytes_of(core.rank(), Buffer::a_scale, 0, 2)};
               core.load(0, {&rows, 1}, {0, {0, 16}});
               core.pipe_barrier(Pipe::mte2);
             }
           },
       .vector =
           [](VectorCore& core) {
             const int next = (core.rank() + 1) % 3;
             const int last = (core.rank() + 2) % 3;
             for (int round = 0; round < 3; ++round) {
               if (core.block() == 0) {
                 core.channel(next).write_nbi(bytes_of(next, Buffer::window_data, 64 * round, 64),
                                              bytes_of(core.rank(), Buffer::a, 64 * round, 64));
                 core.channel(next).drain();
                 core.store_epoch(next, {EpochSlot::Kind::arrived, core.rank()}, round + 1);
                 core.wait_epoch({EpochSlot::Kind::arrived, last}, round + 1);
               }
               core.sync_all();
               core.set_flag(Pipe::mte3, FlagId{0});
             }
           }});
}

// Two cores tell a peer through one word: which arrival ends the wait is open.
sim::Program merged_program() {
  return make_program(2, 2, {.vector = [](VectorCore& core) {
                        const int peer = 1 - core.rank();
                        core.store_epoch(peer, {EpochSlot::Kind::arrived, core.rank()}, 1);
                        core.wait_epoch({EpochSlot::Kind::arrived, peer}, 1);
                        core.sync_all();
                      }});
}

Exploration explored(const sim::Program& program, Strategy strategy, int schedules) {
  return explore(program,
                 {.strategy = strategy, .schedules = schedules, .hash = HappensBefore::Hash::on},
                 [&](sim::Schedule* schedule, const std::vector<sim::Observer*>& more) {
                   RunReport report = run_checked(program, schedule, HappensBefore::Hash::on, more);
                   // To see all schedules of a program whose first run has findings.
                   report.findings.clear();
                   return report;
                 });
}

TEST(Schedules, AllFormsGiveOneHappensBeforeRelationWhereARunIsConfluent) {
  const sim::Program program = sound_program();
  ASSERT_TRUE(run_checked(program).clean());
  for (Strategy strategy : {Strategy::random, Strategy::pct, Strategy::starve}) {
    const Exploration found = explored(program, strategy, 100);
    EXPECT_GT(found.schedules, 30);
    EXPECT_TRUE(found.report.confluent());
    EXPECT_EQ(found.relations.size(), 1u);
  }
}

TEST(Schedules, GiveSeveralWhereItIsNot) {
  const Exploration found = explored(merged_program(), Strategy::random, 100);
  EXPECT_FALSE(found.report.confluent());
  EXPECT_GT(found.relations.size(), 1u);
}

TEST(Schedules, ExhaustionEndsAndSeesNoFewerRelationsThanDrawing) {
  const Exploration all = explored(merged_program(), Strategy::exhaustive, 20000);
  EXPECT_TRUE(all.exhausted);
  EXPECT_GT(all.schedules, 10);
  const Exploration some = explored(merged_program(), Strategy::random, 300);
  EXPECT_GE(all.relations.size(), some.relations.size());
}

TEST(Schedules, ExhaustionIsOneRunWhereNothingIsOpen) {
  EXPECT_EQ(explored(sound_program(), Strategy::exhaustive, 100).schedules, 1);
}

std::vector<int> entities_of(const sim::Program& program, const ScheduleSpec& spec) {
  class Noting final : public sim::Schedule {
   public:
    explicit Noting(sim::Schedule& schedule) : schedule_(schedule) {}
    std::size_t pick(const sim::Machine& machine, const std::vector<int>& ready) override {
      const std::size_t index = schedule_.pick(machine, ready);
      taken.push_back(ready[index]);
      return index;
    }
    std::vector<int> taken;

   private:
    sim::Schedule& schedule_;
  };
  const auto schedule = make_schedule(spec);
  Noting noting(*schedule);
  sim::Machine machine(program, {});
  EXPECT_TRUE(machine.run(&noting));
  return noting.taken;
}

TEST(Schedules, ARecordedOneIsReplayedStepByStep) {
  const sim::Program program = sound_program();
  for (const char* token : {"random:5", "pct:3:200:9", "starve:lane=MTE2", "starve:wires"}) {
    const ScheduleSpec spec = parse_token(token);
    const auto schedule = make_schedule(spec);
    Recorder recorder(*schedule);
    sim::Machine machine(program, {});
    ASSERT_TRUE(machine.run(&recorder));
    const ScheduleSpec again = parse_token(to_token(recorder.spec()));
    EXPECT_EQ(entities_of(program, again), entities_of(program, spec)) << token;
  }
}

TEST(Schedules, StarvationHoldsItsClassBack) {
  const sim::Program program = sound_program();
  const std::vector<int> taken = entities_of(program, parse_token("starve:rank=1"));
  // 2 blocks × 2 cores × 8 numbers of rank 0 come first, then those of rank 1.
  const auto of_rank_1 = [](int entity) { return entity >= 32 && entity < 64; };
  const auto first = std::find_if(taken.begin(), taken.end(), of_rank_1);
  // Others can go on until the first round needs rank 1.
  EXPECT_GT(first - taken.begin(), 8);
}

TEST(Schedules, ControlFlowThatDependsOnTheOrderIsReported) {
  // Who comes first to a counter does more.
  std::vector<int> tickets(1, 0);
  sim::Program program = make_program(1, 2, {.vector = [&tickets](VectorCore& core) {
                                        core.set_event(EventKind::mte2_v, 0);
                                        core.wait_event(EventKind::mte2_v, 0);
                                        core.pipe_barrier(Pipe::all);
                                        const int ticket = tickets[0]++;
                                        if (ticket == 0 && core.block() == 1) {
                                          core.pipe_barrier(Pipe::mte2);
                                        }
                                      }});
  program.before = [&tickets](sim::Machine&, int, int) { tickets[0] = 0; };
  const Exploration found =
      explore(program, {.strategy = Strategy::random, .schedules = 50},
              [&](sim::Schedule* schedule, const auto& more) {
                return run_checked(program, schedule, HappensBefore::Hash::off, more);
              });
  ASSERT_EQ(found.report.findings.size(), 1u);
  EXPECT_EQ(found.report.findings[0].code, FindingCode::nonconfluent);
}

}  // namespace
}  // namespace tandem::check
