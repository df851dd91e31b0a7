// SPDX-License-Identifier: Apache-2.0
// Group E: buffers, windows, budgets.
#include "check/mutants/mutants.h"

namespace tandem::check {
namespace {

using enum FindingCode;
using Kind = Mutant::Kind;

constexpr std::string_view kPut = "vector channel write_nbi registry.cc";
constexpr std::string_view kRead = "vector channel read_nbi registry.cc";
constexpr std::string_view kCubeLoad = "cube MTE2 load cube_pipeline.cc";
constexpr std::string_view kCubeStore = "cube FIX store cube_pipeline.cc";

BufferExtent& extent(Launch& launch, Buffer buffer) {
  return launch.extents[static_cast<std::size_t>(buffer)];
}

Configuration gather_ring() { return gather(3, 3, 5).shape(20, 512, 64).slots(2); }

Mutants layouts() {
  return {
      {.id = "E01",
       .title = "scales at offset 0 of the window, over the rows",
       .config = gather(3, 3, 3),
       .mutation = {.launch = [](Launch& launch,
                                 int) { extent(launch, Buffer::window_scale).window_offset = 0; }},
       .code = overlay,
       .object = "window-data window-scale"},
      {.id = "E02",
       .title = "output rows over the sum in UB",
       .config =
           scatter(3, 6, 3).with([](Problem& problem) { problem.reduction = ReductionForm::rows; }),
       .mutation = {.plan = [](Plan& plan,
                               int) { plan.reduction.out_offset = plan.reduction.sum_offset; }},
       .code = race_war,
       .object = "UB of vector",
       .sites = {"vector MTE3 store reduce.cc", "vector V accumulate reduce.cc"}},
      {.id = "E03",
       .title = "one row more in a batch than UB holds",
       .config = scatter(2, 2, 1).shape(64, 2048, 64),
       .mutation = {.plan = [](Plan& plan, int) { plan.reduction.batch_rows += 1; }},
       .code = budget,
       .object = "UB tensor",
       .sites = {"vector reduce.cc"}},
      {.id = "E06",
       .title = "the scales' offset is made without the number of ranks",
       .config = gather(3, 3, 3),
       .mutation = {.launch = [](Launch& launch,
                                 int) { extent(launch, Buffer::window_scale).window_offset /= 3; }},
       .code = overlay,
       .object = "window-data window-scale"},
      {.id = "E10/passed",
       .title = "a window that is too small, passed to the kernel",
       .config = gather(3, 3, 3),
       .mutation = {.plan = [](Plan& plan, int) { plan.comm[0].window_bytes /= 2; }},
       .code = out_of_bounds,
       .object = "window-data",
       .sites = {"vector registry.cc"}},
      {.id = "E13",
       .title = "the host allocates one row of A too few",
       .config = gather(3, 3, 3),
       .mutation = {.launch = [](Launch& launch, int) { extent(launch, Buffer::a).bytes -= 64; }},
       .code = out_of_bounds,
       .object = "a[",
       .sites = {"cube_pipeline.cc"}},
      {.id = "E14",
       .title = "rank 2 has a smaller window than the others",
       .config = gather(3, 3, 3),
       .mutation = {.launch =
                        [](Launch& launch, int rank) {
                          if (rank == 2) extent(launch, Buffer::window_data).bytes /= 2;
                        }},
       .code = out_of_bounds,
       .object = "window-data[2]",
       .sites = {"vector registry.cc"}},
      {.id = "E17",
       .title = "the last slice is sent with the length of the first",
       .config = to_all(4, 4, 3).shape(10, 512, 256),
       .mutation =
           {.edits = {{vector(Verb::write_nbi).on(Buffer::window_data).rank(0).peer(2).nth(-1),
                       add_rows(1)}}},
       .code = race_war,
       .object = "window-data[2]",
       .sites = {kCubeLoad, kPut}},
  };
}

Mutants rings() {
  return {
      {.id = "E07",
       .title = "a ring slot is stored again without waiting for its release",
       .config = get_ring(2, 2, 5, 2),
       .mutation = {.edits = {{cube(Verb::wait_flag), drop()}, {vector(Verb::set_flag), drop()}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {kCubeStore, kRead}},
      {.id = "E07/gather",
       .title = "a ring slot is put again without waiting for its release",
       .config = gather_ring(),
       .mutation = {.edits = {{cube(Verb::set_flag), drop()}, {vector(Verb::wait_flag), drop()}}},
       .code = race_war,
       .object = "window-data",
       .sites = {kCubeLoad, kPut}},
      {.id = "E08",
       .title = "releases are waited for one round too late",
       .config = get_ring(2, 2, 5, 2),
       .mutation = {.edits = {{cube(Verb::wait_flag).nth(1), drop()}}},
       .code = race_raw,
       .object = "window-data",
       .sites = {kCubeStore, kRead}},
      {.id = "E08/early",
       .title = "a release is waited for before the round that needs it is offered",
       .config = get_ring(2, 2, 5, 1),
       .mutation = {.edits = {{cube(Verb::wait_flag), before_previous(Verb::set_flag)}}},
       .code = deadlock,
       .object = "flag 0 flag 1",
       .sites = {"cube wait_flag matmul_all_gather/kernel.cc"}},
      {.id = "E09",
       .title = "a round is released that nobody waits for",
       .config = get_ring(2, 2, 5, 2),
       .mutation = {.edits = {{vector(Verb::set_flag).nth(-1), duplicate()}}},
       .code = flag_residue,
       .object = "flag 1 of cube",
       .sites = {"vector matmul_all_gather/kernel.cc"}},
  };
}

Mutants refusals() {
  return {
      {.id = "E04",
       .title = "L0C smaller than one base block",
       .kind = Kind::refusal,
       .config =
           [] {
             Configuration config = to_all(2, 2, 2).shape(512, 512, 512).on_device("ascend950pr");
             config.device_change = [](Device& device) { device.memory.l0c_bytes = 512; };
             return config;
           }(),
       .object = "L0C"},
      {.id = "E05",
       .title = "L1 smaller than one base block with its scales",
       .kind = Kind::refusal,
       .config =
           [] {
             Configuration config = to_all(2, 2, 2).shape(512, 512, 512).on_device("ascend950pr");
             config.device_change = [](Device& device) { device.memory.l1_bytes = 4096; };
             return config;
           }(),
       .object = "L1"},
      {.id = "E10",
       .title = "a window larger than the device offers",
       .kind = Kind::refusal,
       .config = gather(8, 8, 4).shape(8192, 512, 8192).on_device("ascend950pr"),
       .object = "window needs 553648128 209715200"},
      {.id = "E11",
       .title = "more ranks than the operand has fragments",
       .kind = Kind::refusal,
       .config = gather(33, 32, 1).shape(512, 512, 512).on_device("ascend950pr"),
       .object = "R 33 exceeds the 32 fragments"},
  };
}

}  // namespace

Mutants memory_mutants() { return joined({layouts(), rings(), refusals()}); }

}  // namespace tandem::check
