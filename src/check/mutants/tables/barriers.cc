// SPDX-License-Identifier: Apache-2.0
// Group B: meetings of a rank's cores, and barriers across ranks.
#include <algorithm>

#include "check/mutants/mutants.h"
#include "check/mutants/tables/rewrites.h"

namespace tandem::check {
namespace {

using enum FindingCode;

constexpr std::string_view kScatter = "matmul_reduce_scatter/kernel.cc";

// The value of every barrier call.
std::vector<StreamEdit> barrier_values(const std::function<void(VerbRecord&)>& how) {
  return {{vector(Verb::store_epoch), change(how)}, {vector(Verb::wait_epoch), change(how)}};
}

Mutants meetings() {
  return {
      {.id = "B01",
       .title = "sync_all only on communicating cores",
       .config = gather(2, 4, 2),
       .mutation = {.edits = {{vector(Verb::sync_all).block(2), drop()},
                              {vector(Verb::sync_all).block(3), drop()}}},
       .code = deadlock,
       .object = "sync_all vector 2-3 FINISHED",
       .sites = {"vector sync_all all_gather_matmul/kernel.cc"}},
      {.id = "B02",
       .title = "one core calls sync_all once more",
       .config = gather(2, 3, 2),
       .mutation = {.edits = {{vector(Verb::sync_all).rank(0).block(0).nth(1), duplicate()}}},
       .code = deadlock,
       .object = "sync_all vector 1-2 FINISHED",
       .sites = {"vector 0 sync_all all_gather_matmul/kernel.cc"}},
      {.id = "B04",
       .title = "no sync_all before the last reduction",
       .config = scatter(2, 4, 1).shape(1152, 256, 64),
       .mutation = {.edits = {{vector(Verb::sync_all).in(kScatter, 4), drop()}}},
       .code = race_raw,
       .object = "staging",
       .sites = {"cube FIX store cube_pipeline.cc", "vector MTE2 load reduce.cc"}},
      {.id = "B05",
       .title = "no sync_all after the barrier across ranks",
       .config = scatter_shared(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::sync_all).in(kScatter, 3), drop()}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"vector channel write_nbi registry.cc", "vector MTE2 load reduce.cc"}},
      {.id = "B06",
       .title = "one core crosses the barrier for all before the others have drained",
       .config = scatter(3, 6, 3).with([](Problem& problem) { problem.fence = FenceJobs::first; }),
       .mutation = {.edits = {{vector(Verb::sync_all).in(kScatter, 2), drop()}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"vector channel write_nbi registry.cc", "vector MTE2 load reduce.cc"}},
  };
}

Mutants device_barriers() {
  return {
      {.id = "B07",
       .title = "no barrier across ranks at all",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::store_epoch), drop()},
                              {vector(Verb::wait_epoch), drop()}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"vector channel write_nbi registry.cc", "cube MTE2 load cube_pipeline.cc"}},
      {.id = "B08",
       .title = "all jobs of a rank store into one arrival word",
       .config = gather(3, 3, 3),
       .mutation = {.problem = [](Problem& problem,
                                  int) { problem.barrier = BarrierLayout::single_slot; }},
       .code = barrier_merged,
       .object = "barrier word of peer",
       .sites = {"vector store_epoch team_barrier.cc"}},
      {.id = "B09",
       .title = "arrivals are stored, and no core polls them",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::wait_epoch).from(2), drop()}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {"vector channel write_nbi registry.cc", "vector MTE2 load reduce.cc"}},
      {.id = "B10",
       .title = "the count of the barrier stands still after the first round",
       .config = gather(3, 3, 3),
       .mutation = {.edits = barrier_values([](VerbRecord& call) {
                      call.value = std::min<std::uint64_t>(call.value, 2);
                    })},
       .code = race_raw,
       .object = "window-data",
       .sites = {"vector channel write_nbi registry.cc", "cube MTE2 load cube_pipeline.cc"}},
      {.id = "B11",
       .title = "a rank polls its own word",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::wait_epoch).rank(0),
                               change([](VerbRecord& call) { call.epoch.index = 0; })}}},
       .code = deadlock,
       .object = "barrier word of rank 0",
       .sites = {"vector wait_epoch team_barrier.cc"}},
  };
}

Mutants partial_barriers() {
  return {
      {.id = "B12",
       .title = "a rank polls all peers but one",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::wait_epoch).rank(0).when([](const VerbRecord& call) {
                                 return call.epoch.index == 2 && call.value > 1;
                               }),
                               drop()}}},
       .code = race_raw,
       .object = "window-data[0]",
       .sites = {"rank 2 vector channel write_nbi registry.cc",
                 "rank 0 cube MTE2 load cube_pipeline.cc"}},
      {.id = "B13",
       .title = "the barrier counts from 1 again in every launch",
       .config = gather(3, 3, 3),
       .mutation = {.launch = [](Launch& launch, int) { launch.epochs = 0; }},
       .code = race_war,
       .object = "window-data",
       .sites = {"cube MTE2 load cube_pipeline.cc", "vector channel write_nbi registry.cc"}},
      {.id = "B18",
       .title = "fewer blocks than jobs: nobody serves some peers",
       .config = to_all(4, 2, 2),
       .mutation = {.plan = [](Plan& plan, int) { plan.jobs = 4; }},
       .code = deadlock,
       .object = "barrier word",
       .sites = {"vector wait_epoch team_barrier.cc"}},
      {.id = "B19",
       .title = "one rank runs with another number of rounds",
       .config = gather(2, 2, 2),
       .mutation = {.problem =
                        [](Problem& problem, int rank) {
                          if (rank == 1) problem.tiles = 3;
                        }},
       .code = deadlock,
       .object = "barrier word",
       .sites = {"vector wait_epoch team_barrier.cc"}},
  };
}

Mutants words() {
  return {
      {.id = "B14",
       .title = "a rank clears its words after it has published them",
       .config = gather(3, 3, 3),
       .mutation = {.world = [](WorldRecording& world, const Plan&,
                                int) { clear_own_words(world); }},
       .code = count_ambiguous,
       .object = "barrier word of peer",
       .sites = {"vector store_epoch", "vector store_epoch team_barrier.cc"}},
      {.id = "B15",
       .title = "a credit of 1 is not taken away before it is given again",
       .config = gather(3, 3, 3),
       .mutation = {.launch = [](Launch& launch, int) { launch.epochs = 0; },
                    .edits = barrier_values([](VerbRecord& call) { call.value = 1; })},
       .code = count_ambiguous,
       .object = "barrier word of peer",
       .sites = {"vector store_epoch team_barrier.cc"}},
      {.id = "B16",
       .title = "one rank crosses the barrier twice a round",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::store_epoch).rank(1),
                               change([](VerbRecord& call) { call.value *= 2; })},
                              {vector(Verb::wait_epoch).rank(1),
                               change([](VerbRecord& call) { call.value *= 2; })}}},
       .code = deadlock,
       .object = "barrier word of rank",
       .sites = {"rank 1 vector wait_epoch team_barrier.cc"}},
      {.id = "B17",
       .title = "two objects cross one barrier, each with a count of its own",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::store_epoch), duplicate()},
                              {vector(Verb::wait_epoch), duplicate()}}},
       .code = count_ambiguous,
       .object = "barrier word of peer",
       .sites = {"vector store_epoch team_barrier.cc"}},
      {.id = "B21",
       .title = "the barrier's targets are strided where the transfers' are contiguous",
       .config = to_all(3, 2, 3),
       .mutation = {.world = [](WorldRecording& world, const Plan& plan,
                                int) { stride_targets(world, plan); }},
       .code = race_raw,
       .object = "window-data",
       .sites = {"vector channel write_nbi registry.cc", "cube MTE2 load cube_pipeline.cc"}},
      {.id = "B22",
       .title = "jobs meet once per target, and some have fewer targets",
       .config = to_all(4, 3, 3),
       .mutation = {.world = [](WorldRecording& world, const Plan& plan,
                                int) { meet_once_per_target(world, plan); }},
       .code = deadlock,
       .object = "barrier word of job",
       .sites = {"vector wait_epoch"}},
  };
}

}  // namespace

Mutants barrier_mutants() {
  return joined({meetings(), device_barriers(), partial_barriers(), words()});
}

}  // namespace tandem::check
