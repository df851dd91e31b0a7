// SPDX-License-Identifier: Apache-2.0
// Group L: operands and partial rows that peers read where they lie (--transfer direct).
#include "check/mutants/mutants.h"

namespace tandem::check {
namespace {

using enum FindingCode;

constexpr std::string_view kFill = "host fill_window";
constexpr std::string_view kLoad = "cube MTE2 load cube_pipeline.cc";
constexpr std::string_view kLend = "ops/common/lent_operands.cc";
constexpr std::string_view kScatter = "matmul_reduce_scatter/kernel.cc";

Configuration direct(const Configuration& config) {
  return config.with([](Problem& problem) { problem.transfer = Transfer::direct; });
}

// The waits of the n-th barrier across ranks of a launch.
Where waits_of_barrier(std::uint64_t number) {
  return vector(Verb::wait_epoch).when([number](const VerbRecord& call) {
    return call.value == number;
  });
}

Mutants lent_rows() {
  return {
      {.id = "L01",
       .title = "rows of A are read before their rank has put them into its window",
       .config = direct(gather(3, 3, 1)),
       .mutation = {.edits = {{waits_of_barrier(1), drop()}}},
       .code = race_raw,
       .object = "a[",
       .sites = {kFill, kLoad}},
      {.id = "L01/to-all",
       .title = "the same where a rank needs rows of all others",
       .config = direct(to_all(3, 2, 1)),
       .mutation = {.edits = {{waits_of_barrier(1), drop()}}},
       .code = race_raw,
       .object = "a[",
       .sites = {kFill, kLoad}},
      {.id = "L02",
       .title = "a rank ends its launch, and puts new rows where peers still read the old ones",
       .config = direct(gather(3, 3, 1)),
       .mutation = {.edits = {{waits_of_barrier(2), drop()}}},
       .code = race_war,
       .object = "a[",
       .sites = {kLoad, kFill}},
      {.id = "L03",
       .title = "cores tell the peers of their own reads before the rank's other cores have read",
       .config = direct(gather(3, 3, 1)),
       .mutation = {.edits = {{vector(Verb::sync_all).in(kLend, 2), drop()}}},
       .code = race_war,
       .object = "a[",
       .sites = {kLoad, kFill}},
      {.id = "L04",
       .title = "a core lets its cube core read when its own peers are there, not all",
       .config = direct(gather(3, 3, 1)),
       .mutation = {.edits = {{vector(Verb::sync_all).in(kLend, 1), drop()}}},
       .code = race_raw,
       .object = "a[",
       .sites = {kFill, kLoad}},
      {.id = "L05",
       .title = "scales lie where the codes are",
       .config = direct(gather(3, 3, 1)),
       .mutation = {.plan = [](Plan& plan, int) { plan.window_scale_offset = 0; }},
       .code = overlay,
       .object = "window of rank"},
  };
}

Mutants lent_partials() {
  return {
      {.id = "L06",
       .title = "partial rows are read before their rank has stored them",
       .config = direct(scatter(3, 6, 1)),
       .mutation = {.edits = {{waits_of_barrier(1), drop()}}},
       .code = race_raw,
       .object = "staging",
       .sites = {"cube FIX store cube_pipeline.cc", "vector MTE2 load reduce.cc"}},
      {.id = "L07",
       .title = "no barrier at the end: the next launch stores over what peers still read",
       .config = direct(scatter(3, 6, 1)),
       .mutation = {.edits = {{waits_of_barrier(2), drop()}}},
       .code = race_war,
       .object = "staging",
       .sites = {"vector MTE2 load reduce.cc", "cube FIX store cube_pipeline.cc"}},
      {.id = "L08",
       .title = "the barrier at the end does not speak for the cores that reduce",
       .config = direct(scatter(3, 6, 1)),
       .mutation = {.edits = {{vector(Verb::sync_all).in(kScatter, 5), drop()}}},
       .code = race_war,
       .object = "staging",
       .sites = {"vector MTE2 load reduce.cc", "cube FIX store cube_pipeline.cc"}},
  };
}

}  // namespace

Mutants lent_mutants() { return joined({lent_rows(), lent_partials()}); }

}  // namespace tandem::check
