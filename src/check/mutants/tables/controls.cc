// SPDX-License-Identifier: Apache-2.0
// Correct programs that look wrong: the checker must say nothing.
#include "check/mutants/mutants.h"
#include "check/mutants/tables/rewrites.h"

namespace tandem::check {
namespace {

using Kind = Mutant::Kind;

Mutants kernels() {
  return {
      {.id = "N01",
       .title = "only MTE2 is held for rows that MTE2 loads",
       .kind = Kind::control,
       .config = gather(3, 3, 3),
       .reason = "the consumer is the pipe that waits"},
      {.id = "N02",
       .title = "flag 0 in both directions at once",
       .kind = Kind::control,
       .config = get_ring(2, 2, 5, 2),
       .mutation = {.plan = [](Plan& plan, int) { plan.flags.release.first = 0; }},
       .reason = "the counters lie at the receivers"},
      {.id = "N03",
       .title = "one counting flag for 64 rounds",
       .kind = Kind::control,
       .config = to_all(2, 2, 64).shape(64, 16, 128),
       .reason = "releases bound what is outstanding; the ids bound nothing"},
      {.id = "N04",
       .title = "a job whose target is its own rank drains nothing and still meets the others",
       .kind = Kind::control,
       .config = gather(4, 4, 2),
       .reason = "nothing was posted there"},
      {.id = "N05",
       .title = "the own part of the window is never written",
       .kind = Kind::control,
       .config = scatter(4, 8, 2),
       .reason = "own rows are read from staging"},
      {.id = "N06",
       .title = "heads and one shorter tail",
       .kind = Kind::control,
       .config =
           gather(2, 2, 2).shape(528, 512, 512).on_device("ascend950pr").with([](Problem& problem) {
             problem.tiles.reset();
             problem.tile_rows = 512;
             problem.blocks.reset();
           }),
       .reason = "the tail begins where the heads end"},
  };
}

Mutants windows() {
  return {
      {.id = "N07",
       .title = "padded rows of a tail",
       .kind = Kind::control,
       .config = scatter(2, 6, 2)
                     .shape(1040, 512, 512)
                     .on_device("ascend950pr")
                     .with([](Problem& problem) {
                       problem.tiles.reset();
                       problem.blocks.reset();
                       problem.tail = TailStrategy::pad;
                     }),
       .reason = "padding takes part in the grid and is neither read nor written"},
      {.id = "N08",
       .title = "reads without sync_all where every block communicates and all jobs meet",
       .kind = Kind::control,
       .config = get_ring(2, 2, 5, 2),
       .mutation = {.world = [](WorldRecording& world, const Plan& plan,
                                int) { meet_by_words(world, plan); }},
       .reason = "the jobs' words join the same cores"},
      {.id = "N09",
       .title = "a word per peer and a job per rank",
       .kind = Kind::control,
       .config = to_all(4, 4, 3),
       .reason = "a job speaks only for the peer whose transfers it drained"},
      {.id = "N10",
       .title = "two ranks add to one place in any order",
       .kind = Kind::control,
       .config = gather(3, 1, 2),
       .mutation = {.world = [](WorldRecording& world, const Plan& plan,
                                int) { add_from_two_ranks(world, plan); }},
       .code = FindingCode::nonconfluent,
       .object = "C4 any order",
       .reason = "additions need an order with the first store only; sums may differ in bits"},
      {.id = "N11",
       .title = "two cores store into one block of 32 bytes",
       .kind = Kind::control,
       .config = scatter(2, 4, 2).shape(14, 5, 64),
       .reason = "their bytes are disjoint"},
  };
}

Mutants schedules() {
  return {
      {.id = "N12",
       .title = "sync_all twice where once is enough",
       .kind = Kind::control,
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::sync_all), duplicate()}}},
       .reason = "it costs time only"},
      {.id = "N13",
       .title = "ranks without rows",
       .kind = Kind::control,
       .config = scatter(3, 6, 1).shape(1, 512, 64),
       .reason = "no bytes, no access"},
      {.id = "N14",
       .title = "two windows in turn in place of a fence at the start",
       .kind = Kind::control,
       .config = gather(3, 3, 2).launches(4),
       .mutation = {
           .launch =
               [](Launch& launch, int) {
                 for (Buffer buffer : {Buffer::window_data, Buffer::window_scale}) {
                   launch.extents[static_cast<std::size_t>(buffer)].bytes *= 2;
                 }
                 // Leave the scales behind the doubled rows.
                 launch.extents[static_cast<std::size_t>(Buffer::window_scale)].window_offset *= 2;
               },
           .world = [](WorldRecording& world, const Plan& plan,
                       int launch) { alternate_windows(world, plan, launch); }},
       .reason = "the barriers of the launch between order the two uses of a window"},
  };
}

Mutants pipes() {
  return {
      {.id = "N15",
       .title = "operations of V without pipe_barrier between them",
       .kind = Kind::control,
       .config = scatter(2, 4, 2),
       .reason = "V ends one operation before it begins the next"},
      {.id = "N15/overlap",
       .title = "V operations may overlap, and a pipe_barrier stands between them",
       .kind = Kind::control,
       .config = scatter(3, 6, 3),
       .mutation = {.profile = [](sim::Profile& profile) { profile.serial_v = false; },
                    .edits = {{vector(Verb::accumulate), add([](VerbRecord& call) {
                                 call.verb = Verb::pipe_barrier;
                                 call.pipe = Pipe::v;
                               })},
                              {vector(Verb::convert), add([](VerbRecord& call) {
                                 call.verb = Verb::pipe_barrier;
                                 call.pipe = Pipe::v;
                               })}}},
       .reason = "each waits for the one before"},
      {.id = "N16",
       .title = "a put and a load read the same rows at once",
       .kind = Kind::control,
       .config = scatter(3, 6, 3),
       .mutation = {.world = [](WorldRecording& world, const Plan& plan,
                                int) { read_posted_rows(world, plan); }},
       .reason = "two readers"},
      {.id = "N17",
       .title = "a wait for an epoch that the peer has passed already",
       .kind = Kind::control,
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::wait_epoch).nth(-1),
                               add([](VerbRecord& call) { call.value -= 1; })}}},
       .reason = "a word only grows, and one core stores into it"},
      {.id = "N18",
       .title = "one rank moves only where nobody else can",
       .kind = Kind::control,
       .config =
           [] {
             Configuration config = scatter(3, 6, 3);
             config.straggler = 0;
             return config;
           }(),
       .reason = "waits have no deadline here"},
  };
}

}  // namespace

Mutants controls() { return joined({kernels(), windows(), schedules(), pipes()}); }

}  // namespace tandem::check
