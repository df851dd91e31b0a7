// SPDX-License-Identifier: Apache-2.0
#include "report/sweep_page.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

int count_of(const std::string& text, std::string_view part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

SweepPage small_page() {
  SweepPage page;
  page.title = "a <b> & c";
  page.points = {{.tiles = 1, .time = 300'000'000, .products = 200'000'000},
                 {.tiles = 2, .time = 250'000'000, .products = 200'000'000, .masking = 0.5,
                  .best = true}};
  return page;
}

TEST(SweepPage, DrawsACurvePerQuantityAndMarksTheBest) {
  const std::string html = print_sweep_page(small_page());
  EXPECT_EQ(count_of(html, "<polyline"), 4);
  EXPECT_EQ(count_of(html, "<circle"), 1);
  EXPECT_EQ(count_of(html, "best: 2 tiles, 250.0 us, masking 0.50"), 1);
  EXPECT_EQ(count_of(html, "<svg"), count_of(html, "</svg>"));
}

TEST(SweepPage, EscapesWhatItShows) {
  const std::string html = print_sweep_page(small_page());
  EXPECT_EQ(count_of(html, "<b>"), 0);
  EXPECT_EQ(count_of(html, "a &lt;b&gt; &amp; c"), 2);
}

TEST(SweepPage, LoadsNothingFromElsewhere) {
  const std::string html = print_sweep_page(small_page());
  for (const char* part : {"http", "src=", "@import", "url(", "<script"}) {
    EXPECT_EQ(count_of(html, part), 0) << part;
  }
}

TEST(SweepPage, DrawsTheFirstBlockOfOneRank) {
  Timeline timeline;
  timeline.makespan = 1000;
  timeline.ranks.resize(2);
  for (int rank : {0, 1}) {
    for (int block : {0, 1}) {
      timeline.tracks.push_back({.rank = rank, .block = block, .cube = true, .pipe = "M"});
    }
  }
  for (int track = 0; track < 4; ++track) {
    timeline.slices.push_back({.track = track, .name = "matmul", .begin = 100, .end = 600});
  }
  SweepPage page;
  page.timeline = &timeline;
  page.rank = 1;
  const std::string html = print_sweep_page(page);
  EXPECT_EQ(count_of(html, "class=\"matmul\""), 1);
  EXPECT_EQ(count_of(html, "rank 1, block 0"), 1);
  EXPECT_EQ(count_of(html, "<polyline"), 0);
}

}  // namespace
}  // namespace tandem
