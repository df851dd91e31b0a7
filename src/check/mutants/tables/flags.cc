// SPDX-License-Identifier: Apache-2.0
// Group A: flags between the cores of a block.
#include <limits>

#include "check/mutants/mutants.h"

namespace tandem::check {
namespace {

using enum FindingCode;

constexpr std::string_view kGather = "all_gather_matmul/kernel.cc";
constexpr std::string_view kScatter = "matmul_reduce_scatter/kernel.cc";
constexpr std::string_view kGet = "matmul_all_gather/kernel.cc";
constexpr int kFlagA = 0;  // reduce-scatter: remote rows are stored
constexpr int kFlagB = 1;  // own rows are stored
constexpr int kFar = std::numeric_limits<int>::max();

std::function<void(Plan&, int)> ready_ids(FlagIds ids) {
  return [ids](Plan& plan, int) { plan.flags.ready = ids; };
}

Configuration by_round(const Configuration& config) {
  return config.with([](Problem& problem) { problem.flags = FlagNumbering::round; });
}

// All calls of a block disappear.
void drop_block(WorldRecording& world, int block) {
  for (RankRecording& rank : world) {
    for (CoreRecording& core : rank) {
      if (core.block == block) core.verbs.clear();
    }
  }
}

Mutants setters() {
  return {
      {.id = "A01",
       .title = "no fallback set of flag A by a cube core that owns no tile",
       .config = scatter(2, 4, 2).shape(16, 16, 64),
       .mutation = {.edits = {{cube(Verb::set_flag).id(kFlagA).block(3), drop()}}},
       .code = deadlock,
       .object = "flag 0 FINISHED",
       .sites = {"vector 3 wait_flag reduce_scatter/kernel.cc"}},
      {.id = "A04",
       .title = "flag A is set on M, which does not cover what FIX stores",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{cube(Verb::set_flag).id(kFlagA), pipe(Pipe::m)}}},
       .code = race_raw,
       .object = "staging",
       .sites = {"cube FIX store cube_pipeline.cc", "vector channel write_nbi registry.cc"}},
      {.id = "A04/get",
       .title = "ready flag of a ring slot is set on M instead of FIX",
       .config = get_ring(2, 2, 4, 2),
       .mutation = {.edits = {{cube(Verb::set_flag), pipe(Pipe::m)}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"cube FIX store cube_pipeline.cc", "vector channel read_nbi registry.cc"}},
      {.id = "A05",
       .title = "flag B is set once too often in round 1",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{cube(Verb::set_flag).id(kFlagB).block(0).nth(2), duplicate()}}},
       .code = flag_residue,
       .object = "flag 1 of vector 0",
       .sites = {"cube 0 reduce_scatter/kernel.cc"}},
      {.id = "A07",
       .title = "flag A has id 14, which sync_all counts on",
       .config = scatter(3, 6, 3),
       .mutation = {.plan = ready_ids({14})},
       .code = flag_reserved,
       .object = "flag 14",
       .sites = {"cube reduce_scatter/kernel.cc"}},
  };
}

Mutants ids() {
  return {
      {.id = "A08",
       .title = "flag ids number the rounds and reach 14",
       .config = gather(2, 2, 15).shape(16, 16, 64),
       .mutation = {.plan = ready_ids({1, 64})},
       .code = flag_reserved,
       .object = "flag 14",
       .sites = {"vector all_gather_matmul/kernel.cc"}},
      {.id = "A09",
       .title = "flag A has id 11, which sync_all of the cube cores counts on",
       .config = scatter(3, 6, 3),
       .mutation = {.plan = ready_ids({11})},
       .code = flag_reserved,
       .object = "flag 11",
       .sites = {"cube reduce_scatter/kernel.cc"}},
      {.id = "A10",
       .title = "flag A has id 17, cut to 1, which is flag B",
       .config = scatter(3, 6, 3),
       .mutation = {.plan = ready_ids({17})},
       .code = flag_range,
       .object = "flag 17",
       .sites = {"cube reduce_scatter/kernel.cc"}},
      {.id = "A11",
       .title = "20 rounds without a release: the counter ends at 15",
       .config = to_all(2, 2, 20).shape(20, 16, 128),
       .mutation = {.plan = [](Plan& plan, int) { plan.flags.lag = 0; }},
       .code = flag_overflow,
       .object = "flag 0 of cube",
       .sites = {"vector set_flag all_to_all_matmul/kernel.cc"}},
      {.id = "A16",
       .title = "the flag of the own rows is not set beforehand",
       .config = by_round(gather(3, 3, 3)),
       .mutation = {.edits = {{vector(Verb::set_flag).in(kGather).id(0), drop()}}},
       .code = deadlock,
       .object = "flag 0 FINISHED",
       .sites = {"cube gate all_gather_matmul/kernel.cc"}},
      {.id = "A17",
       .title = "the flag of round q has number q instead of q + 1",
       .config = by_round(gather(3, 3, 3)),
       .mutation = {.edits = {{vector(Verb::set_flag).in(kGather, 2), add_to_id(-1)}}},
       .code = deadlock,
       .object = "flag 3 FINISHED",
       .sites = {"cube gate all_gather_matmul/kernel.cc"}},
  };
}

Mutants takers() {
  return {
      {.id = "A02",
       .title = "only MTE2 is held for flags A and B, and the scalar stream posts",
       .config = scatter_shared(2, 1, 3),
       .mutation = {.edits = {{vector(Verb::sync_all).in(kScatter, 1), drop()},
                              {vector(Verb::wait_flag), hold_only(Pipe::mte2)}}},
       .code = race_raw,
       .object = "staging",
       .sites = {"cube FIX store cube_pipeline.cc", "vector channel write_nbi registry.cc"}},
      {.id = "A03",
       .title = "as A02, and a sync_all between wait and put, which waits for all queues",
       .kind = Mutant::Kind::control,
       .config = scatter_shared(2, 1, 3),
       .mutation = {.edits = {{vector(Verb::wait_flag), hold_only(Pipe::mte2)}}},
       .reason = "sync_all drains MTE2 and with it the gate"},
      {.id = "A06",
       .title = "flag B is not taken in one round",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::wait_flag).id(kFlagB).block(0).nth(1), drop()}}},
       .code = flag_residue,
       .object = "flag 1 of vector 0",
       .sites = {"cube 0 reduce_scatter/kernel.cc"}},
      {.id = "A18",
       .title = "a 32-bit mask of taken flags skips the rounds from 32 on",
       .config = to_all(2, 2, 40).shape(40, 16, 128),
       .mutation = {.edits = {{cube(Verb::gate).from(33), drop()}}},
       .code = flag_residue,
       .object = "flag 0 of cube",
       .sites = {"vector all_to_all_matmul/kernel.cc"}},
      {.id = "A18/race",
       .title = "as A18: the rows of the last rounds are read without a wait",
       .config = to_all(2, 2, 40).shape(40, 16, 128),
       .mutation = {.edits = {{cube(Verb::gate).from(33), drop()}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"vector channel write_nbi registry.cc", "cube MTE2 load cube_pipeline.cc"}},
      {.id = "A19",
       .title = "a core without a tile takes one flag too few at the end",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{cube(Verb::gate).block(2).nth(-1), drop()}}},
       .code = flag_residue,
       .object = "flag 0 of cube 2",
       .sites = {"vector 2 all_gather_matmul/kernel.cc"}},
  };
}

Mutants wrong_takes() {
  return {
      {.id = "A20",
       .title = "a tile that reaches into the next round waits only for its first row's round",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{cube(Verb::load).nth(2), add_rows(1)}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"vector channel write_nbi registry.cc", "cube MTE2 load cube_pipeline.cc"}},
      {.id = "A21",
       .title = "the cube core holds M for a round's rows, and MTE2 loads them",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{cube(Verb::gate), pipe(Pipe::m)}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"vector channel write_nbi registry.cc", "cube MTE2 load cube_pipeline.cc"}},
      {.id = "A22",
       .title = "flag A is taken where flag B is meant",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::wait_flag).id(kFlagB), id(kFlagA)}}},
       .code = deadlock,
       .object = "flag 0 FINISHED",
       .sites = {"vector wait_flag reduce_scatter/kernel.cc"}},
      {.id = "A23",
       .title = "the release of a ring slot holds a pipe that the store does not pass",
       .config = get_ring(2, 2, 5, 2),
       .mutation = {.edits = {{cube(Verb::wait_flag), hold_only(Pipe::mte3)}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"cube FIX store cube_pipeline.cc", "vector channel read_nbi registry.cc"}},
      {.id = "A23/load",
       .title = "the release of a ring slot holds MTE2, whose loads come before the store",
       .kind = Mutant::Kind::control,
       .config = get_ring(2, 2, 5, 2),
       .mutation = {.edits = {{cube(Verb::wait_flag), hold_only(Pipe::mte2)}}},
       .reason = "load, product and store of a tile are a chain"},
      {.id = "A26",
       .title = "a core without a tile leaves early and takes no flag",
       .config = to_all(3, 3, 3),
       .mutation = {.edits = {{cube(Verb::gate).block(2), drop()}}},
       .code = flag_residue,
       .object = "flag 0 of cube 2",
       .sites = {"vector 2 all_to_all_matmul/kernel.cc"}},
      {.id = "A27",
       .title = "a wrapper sets flag A after each product, beside the kernel",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{cube(Verb::matmul), add([](VerbRecord& call) {
                                 call.verb = Verb::set_flag;
                                 call.pipe = Pipe::m;
                                 call.id = kFlagA;
                               })}}},
       .code = flag_residue,
       .object = "flag 0 of vector",
       .sites = {"cube"}},
  };
}

Mutants orders() {
  return {
      {.id = "A12",
       .title = "the vector cores meet before they wait for their own cube cores",
       .config = get_ring(2, 2, 4, 2),
       .mutation = {.edits = {{vector(Verb::wait_flag).in(kGet), behind_next(Verb::sync_all)}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"cube FIX store cube_pipeline.cc", "vector channel read_nbi registry.cc"}},
      {.id = "A13",
       .title = "a block without work skips its waits and meetings as well",
       .config = gather(2, 4, 2),
       .mutation = {.world = [](WorldRecording& world, const Plan&, int) { drop_block(world, 3); }},
       .code = deadlock,
       .object = "sync_all vector 3 FINISHED",
       .sites = {"vector sync_all all_gather_matmul/kernel.cc"}},
      {.id = "A14",
       .title = "the flag of a round is set before its rows are drained and the ranks have met",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::set_flag).in(kGather, 2),
                               before_previous(Verb::drain)}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"vector channel write_nbi registry.cc", "cube MTE2 load cube_pipeline.cc"}},
      {.id = "A15",
       .title = "no sync_all between the communicating cores' wait and everybody's flag",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::sync_all), drop()}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"vector channel write_nbi registry.cc", "cube MTE2 load cube_pipeline.cc"}},
      {.id = "A15/get",
       .title = "no sync_all before a slot is offered to the peers",
       .config = get_ring(2, 3, 4, 4),
       .mutation = {.edits = {{vector(Verb::sync_all), drop()}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"cube FIX store cube_pipeline.cc", "vector channel read_nbi registry.cc"}},
      {.id = "A25",
       .title = "a cube core waits for the release of a round that it has not begun",
       .config = get_ring(2, 2, 5, 2),
       .mutation = {.edits = {{cube(Verb::wait_flag).nth(1), earlier(kFar)}}},
       .code = deadlock,
       .object = "flag 1 flag 0",
       .sites = {"cube wait_flag matmul_all_gather/kernel.cc",
                 "vector wait_flag matmul_all_gather/kernel.cc"}},
  };
}

}  // namespace

Mutants flag_mutants() { return joined({setters(), ids(), takers(), wrong_takes(), orders()}); }

}  // namespace tandem::check
