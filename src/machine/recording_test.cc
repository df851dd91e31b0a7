// SPDX-License-Identifier: Apache-2.0
#include "machine/recording.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem {
namespace {

constexpr Site kSite{"src/ops/x/kernel.cc", 7};

View view(Buffer buffer, std::int64_t offset, std::int64_t rows = 2) {
  return {.rank = 1, .buffer = buffer, .offset = offset, .rows = rows, .row_bytes = 8, .pitch = 32};
}

void run_cube(CubeCore& core) {
  const Fragment a{view(Buffer::a, 0), view(Buffer::a_scale, 4, 1)};
  const View c[] = {view(Buffer::c, 64), view(Buffer::staging, 0, 1)};
  core.set_flag(Pipe::fix, {3}, kSite);
  core.wait_flag({4}, kSite);
  core.gate(Pipe::mte2, {0}, kSite);
  core.sync_all(kSite);
  core.pipe_barrier(Pipe::all, kSite);
  core.set_event(EventKind::mte2_mte1, 1, kSite);
  core.wait_event(EventKind::fix_m, 0, kSite);
  core.scalar(ScalarWork::fragment_list, kSite);
  core.cache_hint(CacheHint::stream, kSite);
  core.load(1, {&a, 1}, {2, {16, 48}}, kSite);
  core.matmul(1, 0, Accumulate::add, kSite);
  core.store(0, c, StoreMode::atomic_add, view(Buffer::bias, 0, 1), kSite);
}

// What the calls of run_cube look like, site cut to the file.
constexpr const char* kCubeText =
    "set_flag FIX 3 | ops/x/kernel.cc\n"
    "wait_flag 4 | ops/x/kernel.cc\n"
    "gate MTE2 0 | ops/x/kernel.cc\n"
    "sync_all | ops/x/kernel.cc\n"
    "pipe_barrier ALL | ops/x/kernel.cc\n"
    "set_event MTE2_MTE1 1 | ops/x/kernel.cc\n"
    "wait_event FIX_M 0 | ops/x/kernel.cc\n"
    "scalar fragment-list | ops/x/kernel.cc\n"
    "cache_hint stream | ops/x/kernel.cc\n"
    "load slot 1 b[2]:16+48 a[1]@0+2x8/32 a-scale[1]@4+1x8 | ops/x/kernel.cc\n"
    "matmul slot 1 half 0 add | ops/x/kernel.cc\n"
    "store half 0 atomic-add with-bias c[1]@64+2x8/32 staging[1]@0+1x8 bias[1]@0+1x8 | "
    "ops/x/kernel.cc\n";

void run_vector(VectorCore& core) {
  const UbTensor tensor{64, 2, 4, 16, 2};
  const View local = view(Buffer::staging, 0);
  const View window = view(Buffer::window_data, 8);
  Channel& channel = core.channel(2);
  core.load(tensor, window, kSite);
  core.accumulate(tensor, tensor, tensor, Accumulate::init, kSite);
  core.convert(tensor, {0, 1, 4, 16, 4}, kSite);
  core.store(local, tensor, kSite);
  core.store_epoch(2, {EpochSlot::Kind::arrived, 1}, 9, kSite);
  core.wait_epoch({EpochSlot::Kind::core, 3}, 8, kSite);
  channel.write_nbi(window, local, kSite);
  channel.read_nbi(local, window, kSite);
  channel.write_notify_nbi(window, local, {EpochSlot::Kind::arrived, 1}, 5, kSite);
  channel.write_reduce_nbi(window, local, kSite);
  channel.write_value_nbi(window, 7, kSite);
  channel.fetch_add(window, 6, kSite);
  channel.drain(kSite);
}

constexpr const char* kVectorText =
    "load ub@64+2x4x2/16 window-data[1]@8+2x8/32\n"
    "accumulate init ub@64+2x4x2/16 ub@64+2x4x2/16 ub@64+2x4x2/16\n"
    "convert ub@64+2x4x2/16 ub@0+1x4x4\n"
    "store staging[1]@0+2x8/32 ub@64+2x4x2/16\n"
    "store_epoch rank 2 arrived 1 = 9\n"
    "wait_epoch core 3 >= 8\n"
    "write_nbi peer 2 window-data[1]@8+2x8/32 staging[1]@0+2x8/32\n"
    "read_nbi peer 2 staging[1]@0+2x8/32 window-data[1]@8+2x8/32\n"
    "write_notify_nbi peer 2 arrived 1 = 5 window-data[1]@8+2x8/32 staging[1]@0+2x8/32\n"
    "write_reduce_nbi peer 2 window-data[1]@8+2x8/32 staging[1]@0+2x8/32\n"
    "write_value_nbi peer 2 7 window-data[1]@8+2x8/32\n"
    "fetch_add peer 2 6 window-data[1]@8+2x8/32\n"
    "drain peer 2\n";

Launch small_launch(int blocks) {
  Launch launch;
  launch.blocks = blocks;
  launch.cube = run_cube;
  launch.vector = run_vector;
  return launch;
}

TEST(Recording, EveryCubeVerbIsOneLineWithItsOperands) {
  VerbList verbs;
  RecordingCube core(1, 0, verbs);
  run_cube(core);
  EXPECT_EQ(to_text(verbs, SiteText::file), kCubeText);
}

TEST(Recording, EveryVectorAndChannelVerbIsOneLineWithItsOperands) {
  VerbList verbs;
  RecordingVector core(1, 0, verbs);
  run_vector(core);
  EXPECT_EQ(to_text(verbs, SiteText::none), kVectorText);
}

TEST(Recording, SitesAreTheCallersPlaceRelativeToSrc) {
  VerbList verbs;
  RecordingCube recorder(0, 0, verbs);
  CubeCore& core = recorder;
  const int line = __LINE__ + 1;
  core.sync_all();
  const std::string place = "machine/recording_test.cc:" + std::to_string(line);
  EXPECT_EQ(to_text(verbs.front(), SiteText::file_and_line), "sync_all | " + place);
  verbs.front().site.file = "/elsewhere/src/ops/a.cc";
  EXPECT_EQ(to_text(verbs.front(), SiteText::file), "sync_all | ops/a.cc");
  verbs.front().site.file = "bench/a.cc";
  EXPECT_EQ(to_text(verbs.front(), SiteText::file), "sync_all | bench/a.cc");
}

TEST(Recording, CoresOfARankStandInAFixedOrder) {
  const RankRecording cores = record_launch(small_launch(2), 3);
  ASSERT_EQ(cores.size(), 4u);
  std::string order;
  for (const CoreRecording& core : cores) {
    order += std::string(to_string(core.kind)) + std::to_string(core.block) + ' ';
    EXPECT_EQ(core.rank, 3);
  }
  EXPECT_EQ(order, "cube0 vector0 cube1 vector1 ");
  EXPECT_NE(to_text(cores).find("== rank 3 block 1 vector\n"), std::string::npos);
}

// recorded(launch) run on cores = record_launch(launch), and the cores get the very same calls.
TEST(Recording, NotesTakenOnAnotherMachineAreTheSameAndAreForwarded) {
  const Launch launch = small_launch(1);
  RankRecording noted;
  const Launch noting = recorded(launch, 0, noted);
  VerbList cube_calls;
  VerbList vector_calls;
  RecordingCube cube(0, 0, cube_calls);
  RecordingVector vector(0, 0, vector_calls);
  noting.cube(cube);
  noting.vector(vector);
  const RankRecording expected = record_launch(launch, 0);
  ASSERT_EQ(noted.size(), expected.size());
  for (std::size_t i = 0; i < noted.size(); ++i) {
    EXPECT_FALSE(first_difference(noted[i].verbs, expected[i].verbs));
  }
  EXPECT_FALSE(first_difference(cube_calls, expected[0].verbs));
  EXPECT_FALSE(first_difference(vector_calls, expected[1].verbs));
}

TEST(Recording, ComparisonFindsTheFirstCallThatDiffersInAnyField) {
  VerbList verbs;
  RecordingVector core(1, 0, verbs);
  run_vector(core);
  EXPECT_FALSE(first_difference(verbs, verbs));
  VerbList shorter(verbs.begin(), verbs.end() - 1);
  EXPECT_EQ(first_difference(verbs, shorter), shorter.size());
  EXPECT_EQ(first_difference(shorter, verbs), shorter.size());

  const auto differs_at = [&](std::size_t index, auto change) {
    VerbList other = verbs;
    change(other[index]);
    EXPECT_EQ(first_difference(verbs, other), index);
  };
  differs_at(0, [](VerbRecord& record) { record.views[0].pitch = 33; });
  differs_at(1, [](VerbRecord& record) { record.tensors[2].element_bytes = 4; });
  differs_at(1, [](VerbRecord& record) { record.accumulate = Accumulate::add; });
  differs_at(3, [](VerbRecord& record) { record.site.line = 8; });
  differs_at(3, [](VerbRecord& record) { record.site.file = "src/ops/y/kernel.cc"; });
  differs_at(4, [](VerbRecord& record) { record.value = 10; });
  differs_at(5, [](VerbRecord& record) { record.epoch.index = 4; });
  differs_at(6, [](VerbRecord& record) { record.peer = 1; });
  differs_at(12, [](VerbRecord& record) { record.verb = Verb::sync_all; });
}

}  // namespace
}  // namespace tandem
