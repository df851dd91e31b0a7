// SPDX-License-Identifier: Apache-2.0
// Groups F and G: slices, tails and shares; sums.
#include "check/mutants/mutants.h"

namespace tandem::check {
namespace {

using enum FindingCode;
using Kind = Mutant::Kind;

constexpr std::string_view kPut = "vector channel write_nbi registry.cc";
constexpr std::string_view kCubeLoad = "cube MTE2 load cube_pipeline.cc";
constexpr std::string_view kCubeStore = "cube FIX store cube_pipeline.cc";
constexpr std::string_view kReduceStore = "vector MTE3 store reduce.cc";

// Remote and own segment have row blocks of tiles of their own: two each for both.
Configuration tall_scatter() { return scatter(2, 4, 1).shape(1152, 256, 64); }

// Two segments change places.
void swap_segments(VerbRecord& call) {
  constexpr std::int64_t kSegmentBytes = 576 * 256 * 2;
  for (View& view : call.views) {
    view.offset += view.offset < kSegmentBytes ? kSegmentBytes : -kSegmentBytes;
  }
}

Mutants slices() {
  return {
      {.id = "F01",
       .title = "the last slice's place is made from its own length",
       .config = gather(3, 3, 3).shape(10, 512, 64),
       .mutation = {.edits = {{vector(Verb::write_nbi).on(Buffer::window_data).nth(-1),
                               change([](VerbRecord& call) {
                                 call.views[0].offset -= call.views[0].pitch;
                               })}}},
       .code = uninit,
       .object = "window-data",
       .sites = {kCubeLoad}},
      {.id = "F02",
       .title = "segments are stored in the order in which they are multiplied",
       .config = tall_scatter(),
       .mutation = {.edits = {{cube(Verb::store), change(swap_segments)}}},
       .code = race_raw,
       .object = "staging",
       .sites = {kCubeStore, kPut}},
      {.id = "F03",
       .title = "the boundary of the own segment is one tile early",
       .config = tall_scatter(),
       .mutation = {.edits = {{cube(Verb::set_flag).id(0), before_previous(Verb::store)}}},
       .code = race_raw,
       .object = "staging",
       .sites = {kCubeStore, kPut}},
      {.id = "F07",
       .title = "a round stores the rows of the round before it again",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{cube(Verb::store).nth(2), add_to_offset_rows(-4)}}},
       .code = race_intrapipe,
       .object = "staging",
       .sites = {kCubeStore, kCubeStore}},
      {.id = "F08",
       .title = "rows of A in steps of the whole K where a rank has only its part",
       .config = to_all(3, 3, 3),
       .mutation = {.edits = {{cube(Verb::load), change([](VerbRecord& call) {
                                 for (View& view : call.views) {
                                   if (view.buffer != Buffer::a) continue;
                                   view.offset *= 3;
                                   view.pitch *= 3;
                                 }
                               })}}},
       .code = out_of_bounds,
       .object = "a[",
       .sites = {"cube cube_pipeline.cc"}},
  };
}

Mutants tails() {
  return {
      {.id = "F13",
       .title = "a tail that is no multiple of 16 rows",
       .kind = Kind::refusal,
       .config = scatter(2, 6, 2)
                     .shape(1040, 512, 512)
                     .on_device("ascend950pr")
                     .with([](Problem& problem) {
                       problem.tiles.reset();
                       problem.blocks.reset();
                     }),
       .object = "leave a tail of 8 not a multiple of 16"},
      {.id = "F14",
       .title = "all rounds have the tile grid of the first",
       .config = get_ring(2, 2, 3, 3).shape(11, 1024, 64),
       .mutation = {.plan =
                        [](Plan& plan, int) {
                          for (std::size_t i = 0; i < plan.grid_of_region.size(); ++i) {
                            plan.grid_of_region[i] = plan.grid_of_region[i % plan.grid_ranks];
                          }
                        }},
       .code = out_of_bounds,
       .object = "a[",
       .sites = {"cube cube_pipeline.cc"}},
  };
}

Mutants shares() {
  return {
      {.id = "F04",
       .title = "shares of two reducing cores overlap in one row",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::store).block(0), add_rows(1)}}},
       .code = race_waw,
       .object = "c[",
       .sites = {kReduceStore, kReduceStore}},
      {.id = "F05",
       .title = "a row is in no core's share",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::store).block(0), add_rows(-1)}}},
       .code = coverage,
       .object = "c["},
      {.id = "F06",
       .title = "a strided copy of more rows than the device moves",
       .config = scatter(2, 2, 1).shape(96, 64, 64),
       .mutation = {.plan = [](Plan& plan, int) { plan.reduction.segment_columns /= 2; }},
       .code = hardware_limit,
       .object = "strided copy of 48 rows 32",
       .sites = {"vector reduce.cc"}},
      {.id = "F09",
       .title = "a communicating core also reduces",
       .kind = Kind::control,
       .config = scatter(3, 6, 3),
       .mutation = {.plan = [](Plan& plan, int) { plan.reduction.cores += 1; }},
       .reason = "puts do not use UB, so roles may overlap; rows are shared out among more cores"},
  };
}

Mutants sums() {
  return {
      {.id = "G01",
       .title = "rows are widened in place",
       .config = scatter(3, 6, 3),
       .mutation = {.plan =
                        [](Plan& plan, int) {
                          plan.reduction.wide_offset[0] = plan.reduction.source_offset[0];
                        }},
       .code = alias_local,
       .object = "UB tensors",
       .sites = {"vector reduce.cc"}},
      {.id = "G02",
       .title = "the own segment is put to the own rank as well",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::write_nbi), add([](VerbRecord& call) {
                                 call.peer = call.views[1].rank;
                                 call.views[0].rank = call.peer;
                               })}}},
       .code = channel_self,
       .object = "channel to rank",
       .sites = {"vector registry.cc"}},
      {.id = "G03",
       .title = "a sum starts from what the last one left",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::accumulate), change([](VerbRecord& call) {
                                 call.accumulate = Accumulate::add;
                               })}}},
       .code = uninit,
       .object = "UB of vector",
       .sites = {"vector V accumulate reduce.cc"}},
      {.id = "G04",
       .title = "partial rows are added in the order in which they arrive",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::write_nbi), change([](VerbRecord& call) {
                                 call.verb = Verb::write_reduce_nbi;
                               })}}},
       .code = nonconfluent,
       .object = "C4 any order"},
      {.id = "G06",
       .title = "scales travel without the padding of the last pair",
       .config = gather(3, 3, 3).shape(12, 512, 96),
       .mutation = {.edits = {{vector(Verb::write_nbi).on(Buffer::window_scale),
                               change([](VerbRecord& call) {
                                 for (View& view : call.views) view.row_bytes = 3;
                               })}}},
       .code = uninit,
       .object = "window-scale",
       .sites = {kCubeLoad}},
  };
}

}  // namespace

Mutants shape_mutants() { return joined({slices(), tails(), shares(), sums()}); }

}  // namespace tandem::check
