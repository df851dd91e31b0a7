// SPDX-License-Identifier: Apache-2.0
// Group C: one-sided transfers.
#include "check/mutants/mutants.h"
#include "check/mutants/tables/rewrites.h"

namespace tandem::check {
namespace {

using enum FindingCode;

constexpr std::string_view kPut = "vector channel write_nbi registry.cc";
constexpr std::string_view kGet = "vector channel read_nbi registry.cc";
constexpr std::string_view kCubeLoad = "cube MTE2 load cube_pipeline.cc";
constexpr std::string_view kCubeStore = "cube FIX store cube_pipeline.cc";
constexpr std::string_view kReduceLoad = "vector MTE2 load reduce.cc";

// The transfer once more, to the own rank.
Edit add_to_self() {
  return add([](VerbRecord& call) {
    call.peer = call.views[1].rank;
    call.views[0].rank = call.peer;
  });
}

Mutants drains() {
  return {
      {.id = "C01",
       .title = "no drain before the barrier",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::drain), drop()}}},
       .code = race_inflight_dst,
       .object = "window-data",
       .sites = {kPut, kCubeLoad}},
      {.id = "C01/scatter",
       .title = "no drain before the barrier, read by vector cores",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::drain), drop()}}},
       .code = race_inflight_dst,
       .object = "window-data",
       .sites = {kPut, kReduceLoad}},
      {.id = "C02",
       .title = "the last round is not drained",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::drain).nth(-1), drop()}}},
       .code = race_inflight_dst,
       .object = "window-data",
       .sites = {kPut, kCubeLoad}},
      {.id = "C02/get",
       .title = "the last reads are not drained",
       .config = get_ring(2, 2, 4, 2),
       .mutation = {.edits = {{vector(Verb::drain).nth(-1), drop()}}},
       .code = put_undrained,
       .object = "channel to rank",
       .sites = {"vector"}},
      {.id = "C03",
       .title = "drain of another peer's channel",
       .config = gather(3, 1, 3),
       .mutation = {.edits = {{vector(Verb::drain).rank(0).peer(1),
                               change([](VerbRecord& call) { call.peer = 2; })}}},
       .code = race_inflight_dst,
       .object = "window-data[1]",
       .sites = {kPut, kCubeLoad}},
      {.id = "C04",
       .title = "a ring slot is released while a peer may still read it",
       .config = get_ring(2, 2, 5, 2),
       .mutation = {.edits = {{vector(Verb::drain).nth(1), drop()}}},
       .code = race_inflight_src,
       .object = "window-data",
       .sites = {kGet, kCubeStore}},
  };
}

Mutants late_posts() {
  return {
      {.id = "C09",
       .title = "drain means only that the source may be reused",
       .config = gather(3, 3, 3),
       .mutation = {.profile = [](sim::Profile& profile) { profile.drain_is_remote = false; }},
       .code = race_inflight_dst,
       .object = "window-data",
       .sites = {kPut, kCubeLoad}},
      {.id = "C10",
       .title = "rows are posted after the drain that covers their scales",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::write_nbi).on(Buffer::window_data),
                               behind_next(Verb::drain)}}},
       .code = race_inflight_dst,
       .object = "window-data",
       .sites = {kPut, kCubeLoad}},
      {.id = "C11",
       .title = "scales are posted after the drain that covers their rows",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::write_nbi).on(Buffer::window_scale),
                               behind_next(Verb::drain)}}},
       .code = race_inflight_dst,
       .object = "window-scale",
       .sites = {kPut, kCubeLoad}},
      {.id = "C12",
       .title = "the notification takes another queue than the rows",
       .config = gather(2, 2, 3),
       .mutation = {.world = [](WorldRecording& world, const Plan& plan,
                                int) { notify_on_other_queue(world, plan); }},
       .code = race_inflight_dst,
       .object = "window-data",
       .sites = {kPut, kCubeLoad}},
  };
}

Mutants orders() {
  return {
      {.id = "C05",
       .title = "a put is posted before the wait for its rows",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::write_nbi), before_previous(Verb::wait_flag)}}},
       .code = uninit,
       .object = "staging",
       .sites = {kPut}},
      {.id = "C06",
       .title = "a read is posted before the barrier that says the slot is filled",
       .config = get_ring(2, 2, 4, 2),
       .mutation = {.edits = {{vector(Verb::read_nbi), before_previous(Verb::wait_epoch)}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {kCubeStore, kGet}},
      {.id = "C14",
       .title = "a rank resets a word beside its peer's next store",
       .config = gather(3, 3, 3),
       .mutation = {.world = [](WorldRecording& world, const Plan&,
                                int) { reset_words_after_wait(world); }},
       .code = count_ambiguous,
       .object = "barrier word of peer",
       .sites = {"vector store_epoch", "vector store_epoch"}},
      {.id = "C21",
       .title = "no barrier behind the last reads: the peer's next launch overwrites the slot",
       .config = get_ring(2, 2, 4, 2),
       .mutation = {.edits = {{vector(Verb::wait_epoch).nth(-1), drop()}}},
       .code = race_war,
       .object = "window-data",
       .sites = {kGet, kCubeStore}},
  };
}

Mutants extents() {
  return {
      {.id = "C07",
       .title = "the own rank is not skipped as a target",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::write_nbi), add_to_self()}}},
       .code = channel_self,
       .object = "channel to rank",
       .sites = {"vector registry.cc"}},
      {.id = "C15",
       .title = "one put of more than 256 MiB",
       .config = gather(2, 2, 4).shape(2100, 16, 131072),
       .mutation = {.problem = [](Problem& problem, int) { problem.tiles = 1; }},
       .code = hardware_limit,
       .object = "transfer of 275251200 bytes 268435456",
       .sites = {"vector registry.cc"}},
      {.id = "C19",
       .title = "the part of the window is the target's instead of the own one",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{vector(Verb::write_nbi).on(Buffer::window_data),
                               change_with([](VerbRecord& call, const EditContext& context) {
                                 const int parts = call.peer - context.rank;
                                 call.views[0].offset += parts * context.plan.comm[0].part_bytes;
                               })}}},
       .code = race_waw,
       .object = "window-data",
       .sites = {kPut, kPut}},
      {.id = "C20",
       .title = "a length in elements instead of bytes",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::write_nbi), change([](VerbRecord& call) {
                                 for (View& view : call.views) view.row_bytes /= 2;
                               })}}},
       .code = uninit,
       .object = "window-data",
       .sites = {kReduceLoad}},
  };
}

}  // namespace

Mutants transfer_mutants() { return joined({drains(), late_posts(), orders(), extents()}); }

}  // namespace tandem::check
