// SPDX-License-Identifier: Apache-2.0
// Group D: pipes and events inside a core.
#include "check/mutants/mutants.h"

namespace tandem::check {
namespace {

using enum FindingCode;

constexpr std::string_view kReduceLoad = "vector MTE2 load reduce.cc";
constexpr std::string_view kSum = "vector V accumulate reduce.cc";
constexpr std::string_view kConvert = "vector V convert reduce.cc";
constexpr std::string_view kReduceStore = "vector MTE3 store reduce.cc";
constexpr std::string_view kCubeLoad = "cube MTE2 load cube_pipeline.cc";
constexpr std::string_view kStage = "cube MTE1 matmul cube_pipeline.cc";
constexpr std::string_view kProduct = "cube M matmul cube_pipeline.cc";
constexpr std::string_view kCubeStore = "cube FIX store cube_pipeline.cc";

// Neither set nor waited for.
std::vector<StreamEdit> without(EventKind kind) {
  std::vector<StreamEdit> edits;
  for (Verb verb : {Verb::set_event, Verb::wait_event}) {
    edits.push_back({cube(verb).event(kind), drop()});
    edits.push_back({vector(verb).event(kind), drop()});
  }
  return edits;
}

Configuration by_rows(const Configuration& config) {
  return config.with([](Problem& problem) { problem.reduction = ReductionForm::rows; });
}

Mutants missing() {
  return {
      {.id = "D01",
       .title = "no MTE2_V: a sum starts before its rows are in UB",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = without(EventKind::mte2_v)},
       .code = race_raw,
       .object = "UB of vector",
       .sites = {kReduceLoad, kSum}},
      {.id = "D02",
       .title = "no V_MTE2: a source slot is loaded again while V reads it",
       .config = scatter(4, 8, 2),
       .mutation = {.edits = without(EventKind::v_mte2)},
       .code = race_intrapipe,
       .object = "UB of vector",
       .sites = {kReduceLoad, kReduceLoad}},
      {.id = "D03",
       .title = "no V_MTE3: rows are stored before they are converted",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = without(EventKind::v_mte3)},
       .code = race_raw,
       .object = "UB of vector",
       .sites = {kConvert, kReduceStore}},
      {.id = "D04",
       .title = "no MTE3_V: the output rows are overwritten while they are stored",
       .config = by_rows(scatter(3, 6, 3)),
       .mutation = {.edits = without(EventKind::mte3_v)},
       .code = race_war,
       .object = "UB of vector",
       .sites = {kReduceStore, kConvert}},
      {.id = "D05",
       .title = "no M_FIX: a tile is stored before it is multiplied",
       .config = gather(3, 3, 3),
       .mutation = {.edits = without(EventKind::m_fix)},
       .code = race_raw,
       .object = "L0C half",
       .sites = {kProduct, kCubeStore}},
      {.id = "D06",
       .title = "no FIX_M: a half of L0C is multiplied into while FIX stores it",
       .config = gather(3, 2, 4),
       .mutation = {.edits = without(EventKind::fix_m)},
       .code = race_war,
       .object = "L0C half",
       .sites = {kCubeStore, kProduct}},
  };
}

Mutants missing_more() {
  return {
      {.id = "D07",
       .title = "no MTE1_MTE2: a slot of L1 is loaded again while MTE1 reads it",
       .config = gather(3, 2, 4),
       .mutation = {.edits = without(EventKind::mte1_mte2)},
       .code = race_war,
       .object = "L1 slot",
       .sites = {kStage, kCubeLoad}},
      {.id = "D07/load",
       .title = "no MTE2_MTE1: a slot of L1 is read before it is loaded",
       .config = gather(3, 2, 4),
       .mutation = {.edits = without(EventKind::mte2_mte1)},
       .code = race_raw,
       .object = "L1 slot",
       .sites = {kCubeLoad, kStage}},
      {.id = "D11",
       .title = "MTE3_V is not set before the first batch",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::set_event).event(EventKind::mte3_v).nth(1), drop()}}},
       .code = deadlock,
       .object = "cycle event MTE3_V(0)",
       .sites = {"vector V wait_event reduce.cc", "vector MTE3 wait_event reduce.cc"}},
      {.id = "D12",
       .title = "V operations of one core may overlap, and no pipe_barrier stands between them",
       .config = scatter(3, 6, 3),
       .mutation = {.profile = [](sim::Profile& profile) { profile.serial_v = false; }},
       .code = race_intrapipe,
       .object = "UB of vector",
       .sites = {"vector V reduce.cc", "vector V reduce.cc"}},
      {.id = "D13",
       .title = "no pipe_barrier between the own part's stores and the additions to them",
       .config = to_all(3, 3, 1).with([](Problem& problem) { problem.local_matmul = 1; }),
       .mutation = {.edits = {{cube(Verb::pipe_barrier), drop()}}},
       .code = atomic_mix,
       .object = "c[",
       .sites = {kCubeStore, kCubeStore}},
  };
}

Mutants wrong() {
  return {
      {.id = "D08",
       .title = "an event is set again before it was waited for",
       .config = gather(3, 2, 4),
       .mutation = {.edits = {{cube(Verb::wait_event).event(EventKind::fix_m).nth(1), drop()}}},
       .code = event_double_set,
       .object = "event FIX_M(0)",
       .sites = {"cube cube_pipeline.cc"}},
      {.id = "D09",
       .title = "an event is left at the end",
       .config = gather(3, 3, 3),
       .mutation = {.edits = {{cube(Verb::wait_event).event(EventKind::mte1_mte2).nth(-1),
                               drop()}}},
       .code = event_residue,
       .object = "event MTE1_MTE2(1)",
       .sites = {"cube cube_pipeline.cc"}},
      {.id = "D10",
       .title = "R = 1: slot 1 is never used, and waited for at the end",
       .config = scatter(1, 2, 2),
       .mutation = {.edits = {{vector(Verb::wait_event).event(EventKind::v_mte2).nth(-1),
                               add([](VerbRecord& call) { call.id = 1; })}}},
       .code = deadlock,
       .object = "event V_MTE2(1) FINISHED",
       .sites = {"vector MTE2 reduce.cc"}},
      {.id = "D14",
       .title = "rows are stored twice without a pipe_barrier",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::store), duplicate()}}},
       .code = race_intrapipe,
       .object = "c[",
       .sites = {kReduceStore, kReduceStore}},
      {.id = "D15",
       .title = "event 0 is set and event 2 is waited for",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::wait_event).event(EventKind::mte2_v), add_to_id(2)}}},
       .code = deadlock,
       .object = "cycle event MTE2_V(2)",
       .sites = {"vector V reduce.cc"}},
      {.id = "D17",
       .title = "the atomic mode of an earlier store is still on",
       .config = to_all(3, 3, 3).with([](Problem& problem) { problem.local_matmul = 1; }),
       .mutation = {.edits = {{cube(Verb::store), change([](VerbRecord& call) {
                                 call.mode = StoreMode::atomic_add;
                               })}}},
       .code = uninit,
       .object = "c[",
       .sites = {kCubeStore}},
      {.id = "D18",
       .title = "event 8 of 0 to 7",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::set_event).event(EventKind::mte2_v), add_to_id(8)},
                              {vector(Verb::wait_event).event(EventKind::mte2_v), add_to_id(8)}}},
       .code = event_range,
       .object = "event MTE2_V(8)",
       .sites = {"vector reduce.cc"}},
      {.id = "D19",
       .title = "the source slot does not change with the rank",
       .config = scatter(3, 6, 3),
       .mutation = {.edits = {{vector(Verb::load).in("reduce.cc"),
                               change_with([](VerbRecord& call, const EditContext& context) {
                                 call.tensors[0].offset = context.plan.reduction.source_offset[0];
                               })}}},
       .code = race_raw,
       .object = "UB of vector",
       .sites = {kReduceLoad, kSum}},
  };
}

}  // namespace

Mutants pipe_mutants() { return joined({missing(), missing_more(), wrong()}); }

}  // namespace tandem::check
