// SPDX-License-Identifier: Apache-2.0
// Each kind of error in the smallest kernel that has it, beside its sound twin. One canonical run
// must find it, although that run itself goes well.
#include "check/happens_before.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "check/run.h"
#include "sim/test_program.h"

namespace tandem::check {
namespace {

using sim::bytes_of;
using sim::make_program;
using sim::ub_floats;

std::string codes_of(const sim::Program& program) {
  std::set<std::string> codes;
  for (const Finding& finding : run_checked(program).findings) {
    codes.insert(std::string(to_string(finding.code)));
  }
  std::string text;
  for (const std::string& code : codes) text += (text.empty() ? "" : " ") + code;
  return text;
}

void send(VectorCore& core, int peer) {
  core.channel(peer).write_nbi(bytes_of(peer, Buffer::window_data, 64 * core.rank(), 64),
                               bytes_of(core.rank(), Buffer::a, 0, 64));
}
void meet(VectorCore& core, int peer, std::uint64_t value) {
  core.store_epoch(peer, {EpochSlot::Kind::arrived, core.rank()}, value);
  core.wait_epoch({EpochSlot::Kind::arrived, peer}, value);
}
void read_from(VectorCore& core, int peer) {
  core.load(ub_floats(0, 16), bytes_of(core.rank(), Buffer::window_data, 64 * peer, 64));
}

// The cube core stores into staging, the vector core sends it. How the vector core waits decides.
sim::Program send_product(const std::function<void(VectorCore&)>& wait) {
  return make_program(2, 1,
                      {.cube =
                           [](CubeCore& core) {
                             const Fragment rows{bytes_of(core.rank(), Buffer::a, 0, 64),
                                                 bytes_of(core.rank(), Buffer::a_scale, 0, 2)};
                             core.load(0, {&rows, 1}, {0, {0, 16}});
                             core.set_event(EventKind::mte2_mte1, 0);
                             core.wait_event(EventKind::mte2_mte1, 0);
                             core.matmul(0, 0, Accumulate::init);
                             core.set_event(EventKind::m_fix, 0);
                             core.wait_event(EventKind::m_fix, 0);
                             const View c = bytes_of(core.rank(), Buffer::staging, 0, 64);
                             core.store(0, {&c, 1}, StoreMode::plain, {});
                             core.set_flag(Pipe::fix, FlagId{0});
                           },
                       .vector =
                           [wait](VectorCore& core) {
                             wait(core);
                             const int peer = 1 - core.rank();
                             core.channel(peer).write_nbi(
                                 bytes_of(peer, Buffer::window_data, 0, 64),
                                 bytes_of(core.rank(), Buffer::staging, 0, 64));
                             core.channel(peer).drain();
                           }});
}

TEST(Race, AGateHoldsOnlyItsPipeSoTheTransferBehindItIsNotOrdered) {
  EXPECT_EQ(codes_of(send_product([](VectorCore& core) { core.wait_flag(FlagId{0}); })), "");
  EXPECT_EQ(codes_of(send_product([](VectorCore& core) { core.gate(Pipe::mte2, FlagId{0}); })),
            "RACE-RAW UNINIT");
}

TEST(Race, ASyncAllBehindTheGateHidesThatTrap) {
  EXPECT_EQ(codes_of(send_product([](VectorCore& core) {
              core.gate(Pipe::mte2, FlagId{0});
              core.sync_all();
            })),
            "");
}

TEST(Race, AFlagSetOnTheWrongPipeDoesNotCoverTheStore) {
  const auto program = [](Pipe pipe) {
    return make_program(1, 1,
                        {.cube = [](CubeCore& core) { core.wait_flag(FlagId{0}); },
                         .vector =
                             [pipe](VectorCore& core) {
                               core.load(ub_floats(0, 8), bytes_of(0, Buffer::a, 0, 32));
                               core.set_event(EventKind::mte2_v, 0);
                               core.wait_event(EventKind::mte2_v, 0);
                               core.convert(ub_floats(64, 8), ub_floats(0, 8));
                               core.set_event(EventKind::v_mte3, 0);
                               core.wait_event(EventKind::v_mte3, 0);
                               core.store(bytes_of(0, Buffer::staging, 0, 32), ub_floats(64, 8));
                               core.set_flag(pipe, FlagId{0});
                             }});
  };
  sim::Program right = program(Pipe::mte3);
  sim::Program wrong = program(Pipe::v);
  for (sim::Program* each : {&right, &wrong}) {
    each->ranks[0].launch.cube = [](CubeCore& core) {
      core.wait_flag(FlagId{0});
      const Fragment rows{bytes_of(0, Buffer::staging, 0, 32), bytes_of(0, Buffer::a_scale, 0, 2)};
      core.load(0, {&rows, 1}, {0, {0, 16}});
    };
  }
  EXPECT_EQ(codes_of(right), "");
  EXPECT_NE(codes_of(wrong).find("RACE-RAW"), std::string::npos);
}

TEST(Race, AMissingEventLetsPipesOverlap) {
  const auto program = [](bool waits) {
    return make_program(1, 1, {.vector = [waits](VectorCore& core) {
                          core.load(ub_floats(0, 8), bytes_of(0, Buffer::a, 0, 32));
                          if (waits) {
                            core.set_event(EventKind::mte2_v, 0);
                            core.wait_event(EventKind::mte2_v, 0);
                          }
                          core.convert(ub_floats(64, 8), ub_floats(0, 8));
                        }});
  };
  EXPECT_EQ(codes_of(program(true)), "");
  EXPECT_NE(codes_of(program(false)).find("RACE-RAW"), std::string::npos);
}

TEST(Race, OperationsOfOnePipeMayOverlapUnlessABarrierStandsBetween) {
  const auto program = [](bool barrier) {
    return make_program(1, 1, {.vector = [barrier](VectorCore& core) {
                          core.load(ub_floats(0, 8), bytes_of(0, Buffer::a, 0, 32));
                          if (barrier) core.pipe_barrier(Pipe::mte2);
                          core.load(ub_floats(0, 8), bytes_of(0, Buffer::a, 32, 32));
                        }});
  };
  EXPECT_EQ(codes_of(program(true)), "");
  EXPECT_EQ(codes_of(program(false)), "RACE-INTRAPIPE");
}

TEST(Race, VectorOperationsAreSerialUnlessTheProfileSaysOtherwise) {
  sim::Program program = make_program(1, 1, {.vector = [](VectorCore& core) {
                                        core.load(ub_floats(0, 8), bytes_of(0, Buffer::a, 0, 32));
                                        core.pipe_barrier(Pipe::all);
                                        core.convert(ub_floats(64, 8), ub_floats(0, 8));
                                        core.convert(ub_floats(128, 8), ub_floats(64, 8));
                                      }});
  EXPECT_EQ(codes_of(program), "");
  program.profile.serial_v = false;
  EXPECT_EQ(codes_of(program), "RACE-INTRAPIPE");
}

sim::Program exchange(const std::function<void(VectorCore&, int peer)>& kernel) {
  return make_program(2, 1,
                      {.vector = [kernel](VectorCore& core) { kernel(core, 1 - core.rank()); }});
}

TEST(Transfer, DataIsVisibleAfterDrainAndBarrier) {
  EXPECT_EQ(codes_of(exchange([](VectorCore& core, int peer) {
              send(core, peer);
              core.channel(peer).drain();
              meet(core, peer, 1);
              read_from(core, peer);
            })),
            "");
}

TEST(Transfer, WithoutADrainTheBarrierSaysNothingOfIt) {
  const std::string codes = codes_of(exchange([](VectorCore& core, int peer) {
    send(core, peer);
    meet(core, peer, 1);
    read_from(core, peer);
    core.channel(peer).drain();
  }));
  EXPECT_NE(codes.find("RACE-INFLIGHT-DST"), std::string::npos) << codes;
}

TEST(Transfer, AWeakDrainCoversOnlyTheSource) {
  sim::Program program = exchange([](VectorCore& core, int peer) {
    send(core, peer);
    core.channel(peer).drain();
    meet(core, peer, 1);
    read_from(core, peer);
  });
  program.profile.drain_is_remote = false;
  EXPECT_NE(codes_of(program).find("RACE-INFLIGHT-DST"), std::string::npos);
}

TEST(Transfer, ItsSourceIsFreeAfterADrain) {
  const auto program = [](bool drains_first) {
    return exchange([drains_first](VectorCore& core, int peer) {
      const View own = bytes_of(core.rank(), Buffer::staging, 0, 32);
      core.load(ub_floats(0, 8), bytes_of(core.rank(), Buffer::a, 0, 32));
      core.pipe_barrier(Pipe::all);
      core.store(own, ub_floats(0, 8));
      core.pipe_barrier(Pipe::all);
      core.channel(peer).write_nbi(bytes_of(peer, Buffer::window_data, 0, 32), own);
      if (drains_first) core.channel(peer).drain();
      core.store(own, ub_floats(0, 8));
      core.channel(peer).drain();
    });
  };
  EXPECT_EQ(codes_of(program(true)), "");
  EXPECT_EQ(codes_of(program(false)), "RACE-INFLIGHT-SRC");
}

TEST(Launches, ARankMayBeALaunchAheadOfItsPeers) {
  const auto program = [](bool fences_first) {
    sim::Program made = exchange([fences_first](VectorCore& core, int peer) {
      if (fences_first) meet(core, peer, 1);
      send(core, peer);
      core.channel(peer).drain();
      meet(core, peer, 2);
      read_from(core, peer);
    });
    made.launches = 2;
    return made;
  };
  EXPECT_EQ(codes_of(program(true)), "");
  EXPECT_NE(codes_of(program(false)).find("RACE-WAR"), std::string::npos);
}

TEST(BarrierWord, OfSeveralCoresGuaranteesNothing) {
  const auto program = [](bool own_words) {
    return make_program(2, 2, {.vector = [own_words](VectorCore& core) {
                          const int slot = own_words ? 2 * core.rank() + core.block() : core.rank();
                          const int peer = 1 - core.rank();
                          core.store_epoch(peer, {EpochSlot::Kind::arrived, slot}, 1);
                          const int want = own_words ? 2 * peer + core.block() : peer;
                          core.wait_epoch({EpochSlot::Kind::arrived, want}, 1);
                        }});
  };
  EXPECT_EQ(codes_of(program(true)), "");
  const RunReport report = run_checked(program(false));
  EXPECT_FALSE(report.confluent());
  EXPECT_TRUE(std::ranges::any_of(report.findings, [](const Finding& finding) {
    return finding.code == FindingCode::barrier_merged;
  }));
}

// The consumer keeps up in this run; in another the producer runs ahead.
TEST(Flag, OverflowIsPredicted) {
  const auto program = [](int rounds, int lag) {
    return make_program(1, 1,
                        {.cube =
                             [rounds, lag](CubeCore& core) {
                               for (int i = 0; i < rounds; ++i) {
                                 if (lag > 0 && i >= lag) core.wait_flag(FlagId{1});
                                 core.set_flag(Pipe::fix, FlagId{0});
                               }
                             },
                         .vector =
                             [rounds, lag](VectorCore& core) {
                               for (int i = 0; i < rounds; ++i) {
                                 core.wait_flag(FlagId{0});
                                 if (lag > 0 && i + lag < rounds) {
                                   core.set_flag(Pipe::mte3, FlagId{1});
                                 }
                               }
                             }});
  };
  EXPECT_EQ(codes_of(program(15, 0)), "");
  EXPECT_EQ(codes_of(program(16, 0)), "FLAG-OVERFLOW");
  EXPECT_EQ(codes_of(program(200, 14)), "");
  EXPECT_EQ(codes_of(program(200, 16)), "FLAG-OVERFLOW");
}

TEST(Confluence, IsDoubtedWhereTwoQueuesTakeOneFlag) {
  const auto program = [](bool both) {
    return make_program(1, 1,
                        {.cube =
                             [](CubeCore& core) {
                               core.set_flag(Pipe::fix, FlagId{0});
                               core.set_flag(Pipe::fix, FlagId{0});
                             },
                         .vector =
                             [both](VectorCore& core) {
                               core.gate(Pipe::mte2, FlagId{0});
                               if (both) {
                                 core.wait_flag(FlagId{0});
                               } else {
                                 core.gate(Pipe::mte2, FlagId{0});
                               }
                             }});
  };
  EXPECT_TRUE(run_checked(program(false)).confluent());
  EXPECT_FALSE(run_checked(program(true)).confluent());
}

TEST(Coverage, EveryByteOfCMustBeWrittenInEachLaunch) {
  const auto program = [](std::int64_t bytes) {
    sim::Program made =
        make_program(1, 1, {.vector = [bytes](VectorCore& core) {
                       core.load(ub_floats(0, 16), bytes_of(0, Buffer::a, 0, 64));
                       core.pipe_barrier(Pipe::all);
                       core.store(bytes_of(0, Buffer::c, 0, bytes), ub_floats(0, bytes / 4));
                     }});
    made.ranks[0].launch.extents[static_cast<int>(Buffer::c)].bytes = 64;
    return made;
  };
  EXPECT_EQ(codes_of(program(64)), "");
  EXPECT_EQ(codes_of(program(60)), "COVERAGE");
}

TEST(Report, NamesBothSidesAndTheMissingEdge) {
  const RunReport report =
      run_checked(send_product([](VectorCore& core) { core.gate(Pipe::mte2, FlagId{0}); }));
  const auto race = std::ranges::find_if(report.findings, [](const Finding& finding) {
    return finding.code == FindingCode::race_raw;
  });
  // The transfer may come first or second in the run: both sides are named.
  ASSERT_NE(race, report.findings.end());
  ASSERT_EQ(race->sides.size(), 2u);
  EXPECT_NE(race->detail.find("missing: end of store"), std::string::npos) << race->detail;
  EXPECT_EQ(race->count, 2) << "one for each rank, told once";
}

}  // namespace
}  // namespace tandem::check
