// SPDX-License-Identifier: Apache-2.0
// Group H: from launch to launch, and what the planner refuses.
#include "check/mutants/mutants.h"

namespace tandem::check {
namespace {

using enum FindingCode;
using Kind = Mutant::Kind;

constexpr std::string_view kPut = "vector channel write_nbi registry.cc";

}  // namespace

Mutants launch_mutants() {
  return {
      {.id = "H01",
       .title = "no fence at the start: a put meets the peer's reads of the launch before",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::wait_epoch).nth(1), drop()}}},
       .code = race_war,
       .object = "window-data",
       .sites = {"cube MTE2 load cube_pipeline.cc", kPut}},
      {.id = "H01/scatter",
       .title = "no fence at the start, where vector cores read the window",
       .config = scatter(3, 6, 1),
       .mutation = {.edits = {{vector(Verb::wait_epoch).nth(1), drop()}}},
       .code = race_war,
       .object = "window-data",
       .sites = {"vector MTE2 load reduce.cc", kPut}},
      {.id = "H02",
       .title = "the second launch takes no flags, as if they were set already",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{cube(Verb::gate).launch(1), drop()}}},
       .code = flag_residue,
       .object = "flag 0 of cube",
       .sites = {"vector all_gather_matmul/kernel.cc"}},
      {.id = "H06/parts",
       .title = "rows that do not divide over the ranks",
       .kind = Kind::refusal,
       .config = scatter(8, 32, 2).shape(4100, 512, 512).on_device("ascend950pr"),
       .object = "m 4100 does not divide over 8 ranks"},
      {.id = "H06/scales",
       .title = "an odd number of pairs of scales",
       .kind = Kind::refusal,
       .config = gather(2, 2, 2).shape(512, 512, 192).on_device("ascend950pr"),
       .object = "ceil(k/64) = 3 not a multiple of 2"},
      {.id = "H06/columns",
       .title = "columns that are no multiple of a stored row",
       .kind = Kind::refusal,
       .config = gather(2, 2, 2).shape(512, 500, 512).on_device("ascend950pr"),
       .object = "n 500 is not a multiple of 16"},
      {.id = "B18/host",
       .title = "fewer blocks than ranks",
       .kind = Kind::refusal,
       .config = gather(8, 4, 1).shape(512, 512, 512).on_device("ascend950pr"),
       .object = "R 8 exceeds the 4 blocks"},
      {.id = "H07",
       .title = "two ranks store into one arrival word",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::store_epoch).rank(2),
                               add([](VerbRecord& call) { call.epoch.index = 1; })}}},
       .code = barrier_merged,
       .object = "barrier word of peer",
       .sites = {"vector store_epoch team_barrier.cc"}},
  };
}

}  // namespace tandem::check
