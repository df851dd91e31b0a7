// SPDX-License-Identifier: Apache-2.0
#include "plan/comm_plan.h"

#include <gtest/gtest.h>

#include <vector>

#include "tandem/error.h"

namespace tandem {
namespace {

// Three ranks; sources' rows have 4, 6 and 2 bytes; destinations receive 5, 3 and 0 rows in slices
// of 2, 2 and 1; local chunks lie 10 rows apart in rows of 100 bytes.
CommPlan small_plan(Hook hook, int slots) {
  CommPlan plan{.hook = hook,
                .ranks = 3,
                .local = Buffer::staging,
                .window = Buffer::window_data,
                .slices = {{0, 2}, {2, 2}, {4, 1}},
                .chunk_rows = {5, 3, 0},
                .row_bytes = {4, 6, 2},
                .local_row = {0, 10, 20},
                .local_column = {7, 8, 9},
                .local_pitch = {100, 200, 300},
                .slots = slots};
  lay_out_window(plan);
  return plan;
}

TEST(CommPlan, AShorterChunkEndsEarlier) {
  const CommPlan plan = small_plan(Hook::all_to_all_put, 0);
  EXPECT_EQ(plan.rows(0, 2), (Slice{4, 1}));
  EXPECT_EQ(plan.rows(1, 0), (Slice{0, 2}));
  EXPECT_EQ(plan.rows(1, 1), (Slice{2, 1}));
  EXPECT_EQ(plan.rows(1, 2).count, 0);
  EXPECT_EQ(plan.rows(2, 0).count, 0);
}

TEST(CommPlan, PutsHaveAPlaceForEachSource) {
  const CommPlan plan = small_plan(Hook::all_to_all_put, 0);
  EXPECT_EQ(plan.part_bytes, 5 * 6);
  EXPECT_EQ(plan.window_bytes, 3 * 30);
  // Rank 1 writes to rank 0: row 2 of its own rows of 6 bytes, in place 1.
  EXPECT_EQ(window_view(plan, 0, 1, 1), (View{0, Buffer::window_data, 30 + 2 * 6, 2, 6, 6}));
  EXPECT_EQ(local_view(plan, 1, 0, 1), (View{1, Buffer::staging, (0 + 2) * 200 + 7, 2, 6, 200}));
  EXPECT_EQ(window_view(plan, 1, 2, 1), (View{1, Buffer::window_data, 60 + 2 * 2, 1, 2, 2}));
  EXPECT_EQ(local_view(plan, 2, 1, 0), (View{2, Buffer::staging, 10 * 300 + 8, 2, 2, 300}));
}

TEST(CommPlan, ARingOfPutsHasNoPlaceForTheOwner) {
  const CommPlan plan = small_plan(Hook::all_gather_put, 2);
  EXPECT_EQ(plan.part_bytes, 2 * 6);
  EXPECT_EQ(plan.window_bytes, 2 * 2 * 12);
  // Owner 1: source 0 has place 0, source 2 has place 1. Round 1 uses slot 1, round 2 slot 0.
  EXPECT_EQ(window_view(plan, 1, 0, 0).offset, 0);
  EXPECT_EQ(window_view(plan, 1, 2, 0).offset, 12);
  EXPECT_EQ(window_view(plan, 1, 0, 1).offset, 24);
  EXPECT_EQ(window_view(plan, 1, 2, 1).offset, 36);
  EXPECT_EQ(window_view(plan, 1, 2, 2).offset, 12);
}

TEST(CommPlan, GetsHaveAPlaceForEachRequester) {
  const CommPlan plan = small_plan(Hook::all_to_all_get, 2);
  EXPECT_EQ(plan.window_bytes, 2 * 3 * 12);
  // Requester 0 reads from owner 1: rows of 6 bytes, at most 2 a slice.
  EXPECT_EQ(window_view(plan, 1, 0, 1), (View{1, Buffer::window_data, 3 * 12, 2, 6, 6}));
  EXPECT_EQ(local_view(plan, 0, 1, 1), (View{0, Buffer::staging, (10 + 2) * 100 + 8, 2, 6, 100}));
  EXPECT_EQ(window_view(plan, 2, 1, 1), (View{2, Buffer::window_data, (3 + 1) * 12, 1, 2, 2}));
}

TEST(CommPlan, AnAllGatherGetSharesOnePlaceAmongItsRequesters) {
  const CommPlan plan = small_plan(Hook::all_gather_get, 2);
  EXPECT_EQ(plan.window_bytes, 2 * 12);
  for (int round : {0, 1, 2}) {
    EXPECT_EQ(window_view(plan, 1, 0, round).offset, round % 2 * 12);
    EXPECT_EQ(window_view(plan, 1, 2, round).offset, round % 2 * 12);
  }
}

TEST(CommPlan, PlacesOfAWindow) {
  for (auto [hook, ring] : {std::pair{Hook::all_to_all_put, 2},
                            {Hook::all_gather_put, 2},
                            {Hook::all_to_all_get, 3},
                            {Hook::all_gather_get, 1}}) {
    EXPECT_EQ(window_parts(small_plan(hook, 0)), 3) << to_string(hook);
    EXPECT_EQ(window_parts(small_plan(hook, 1)), ring) << to_string(hook);
  }
}

TEST(CommPlan, AWindowBeyond63BitsIsRefused) {
  CommPlan plan = small_plan(Hook::all_to_all_put, 0);
  plan.chunk_rows[0] = std::int64_t{1} << 40;
  plan.row_bytes[0] = std::int64_t{1} << 22;
  EXPECT_THROW(lay_out_window(plan), Error);
  plan.row_bytes[0] = std::int64_t{1} << 21;  // 3 · 2^61 fits
  EXPECT_NO_THROW(lay_out_window(plan));
  plan.row_bytes[0] = std::int64_t{3} << 21;  // the place fits, three of them don't
  EXPECT_THROW(lay_out_window(plan), Error);
}

}  // namespace
}  // namespace tandem
