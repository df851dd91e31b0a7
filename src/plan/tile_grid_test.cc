// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/rng.h"
#include "plan/tiling.h"

namespace tandem {
namespace {

Tiling grid_tiling(std::int64_t m, std::int64_t n, std::int64_t base_m, std::int64_t base_n) {
  Tiling tiling;
  tiling.m = m;
  tiling.n = n;
  tiling.k = 64;
  tiling.base_m = base_m;
  tiling.base_n = base_n;
  return tiling;
}

std::string text_of(const std::vector<Tile>& tiles) {
  std::string text;
  for (const Tile& tile : tiles) {
    if (!text.empty()) text += ' ';
    text += std::to_string(tile.rows.first) + '+' + std::to_string(tile.rows.count) + ':' +
            std::to_string(tile.columns.first) + '+' + std::to_string(tile.columns.count);
  }
  return text;
}

TEST(TileGrid, WindowsRunRowsFirstAndTurnRound) {
  // 5 x 3 blocks of 1 x 1, window 2: rows 0, 1 | rows 2, 3, 4 with columns backwards.
  const Tiling tiling = grid_tiling(5, 3, 1, 1);
  EXPECT_EQ(text_of(tiles_of_core(5, 3, tiling, 0, 1, 2)),
            "0+1:0+1 1+1:0+1 0+1:1+1 1+1:1+1 0+1:2+1 1+1:2+1 "
            "2+1:2+1 3+1:2+1 4+1:2+1 2+1:1+1 3+1:1+1 4+1:1+1 2+1:0+1 3+1:0+1 4+1:0+1");
  // Window 1: each row is a window of its own.
  EXPECT_EQ(text_of(tiles_of_core(3, 2, tiling, 0, 1, 1)),
            "0+1:0+1 0+1:1+1 1+1:1+1 1+1:0+1 2+1:0+1 2+1:1+1");
  // A window larger than the grid is the grid.
  EXPECT_EQ(text_of(tiles_of_core(2, 2, tiling, 0, 1, 4)), "0+1:0+1 1+1:0+1 0+1:1+1 1+1:1+1");
}

TEST(TileGrid, CoresTakeTilesInTurn) {
  const Tiling tiling = grid_tiling(5, 3, 1, 1);
  EXPECT_EQ(text_of(tiles_of_core(5, 3, tiling, 1, 4, 2)), "1+1:0+1 1+1:2+1 2+1:1+1 3+1:0+1");
  EXPECT_EQ(text_of(tiles_of_core(5, 3, tiling, 3, 4, 2)), "1+1:1+1 3+1:2+1 4+1:1+1");
}

TEST(TileGrid, TheLastBlocksAreShorter) {
  const Tiling tiling = grid_tiling(10, 7, 4, 5);
  EXPECT_EQ(text_of(tiles_of_core(10, 7, tiling, 0, 1, 1)),
            "0+4:0+5 0+4:5+2 4+4:5+2 4+4:0+5 8+2:0+5 8+2:5+2");
}

TEST(TileGrid, EdgeBlocksShareTheRemainder) {
  // 784 = 3 · 208 + 160: four merged blocks. One block column.
  Tiling tiling = grid_tiling(784, 16, 256, 16);
  tiling.m_base_tail_split = 4;
  tiling.m_tail_main = 208;
  EXPECT_EQ(text_of(tiles_of_core(784, 16, tiling, 0, 1, 4)),
            "0+208:0+16 208+208:0+16 416+208:0+16 624+160:0+16");
  // 1808: 4 · 256 + 3 · 208 + 160.
  tiling.m = 1808;
  EXPECT_EQ(text_of(tiles_of_core(1808, 16, tiling, 0, 2, 1)),
            "0+256:0+16 512+256:0+16 1024+208:0+16 1440+208:0+16");
  EXPECT_EQ(text_of(tiles_of_core(1808, 16, tiling, 1, 2, 1)),
            "256+256:0+16 768+256:0+16 1232+208:0+16 1648+160:0+16");
  // Another extent than the tiling was made for has a plain remainder.
  EXPECT_EQ(text_of(tiles_of_core(600, 16, tiling, 0, 1, 1)),
            "0+256:0+16 256+256:0+16 512+88:0+16");
  // The same along columns.
  Tiling wide = grid_tiling(16, 784, 16, 256);
  wide.n_base_tail_split = 4;
  wide.n_tail_main = 208;
  EXPECT_EQ(text_of(tiles_of_core(16, 784, wide, 0, 1, 1)),
            "0+16:0+208 0+16:208+208 0+16:416+208 0+16:624+160");
}

TEST(TileGrid, TheLastWaveIsCutIntoParts) {
  // 5 tiles for 4 cores: the fifth in 2 x 2 parts.
  Tiling tiling = grid_tiling(50, 10, 10, 10);
  tiling.m_tail_tile = 2;
  tiling.n_tail_tile = 2;
  EXPECT_EQ(text_of(tiles_of_core(50, 10, tiling, 0, 4, 1)), "0+10:0+10 40+5:0+5");
  EXPECT_EQ(text_of(tiles_of_core(50, 10, tiling, 1, 4, 1)), "10+10:0+10 45+5:0+5");
  EXPECT_EQ(text_of(tiles_of_core(50, 10, tiling, 2, 4, 1)), "20+10:0+10 40+5:5+5");
  EXPECT_EQ(text_of(tiles_of_core(50, 10, tiling, 3, 4, 1)), "30+10:0+10 45+5:5+5");
  // Six tiles would need eight cores: not cut.
  EXPECT_EQ(text_of(tiles_of_core(60, 10, tiling, 0, 4, 1)), "0+10:0+10 40+10:0+10");
  EXPECT_EQ(text_of(tiles_of_core(60, 10, tiling, 2, 4, 1)), "20+10:0+10");
}

TEST(TileGrid, AnEmptyPartIsNoTile) {
  // A last tile of 4 rows in 3 parts of 2: the third is empty.
  Tiling tiling = grid_tiling(14, 10, 10, 10);
  tiling.m_tail_tile = 3;
  // Two tiles in 3 parts each, six of seven cores: 4 + 4 + 2 rows, 2 + 2 + 0.
  std::vector<std::string> texts;
  for (int core = 0; core < 7; ++core) {
    texts.push_back(text_of(tiles_of_core(14, 10, tiling, core, 7, 1)));
  }
  const std::vector<std::string> expected{"0+4:0+10",  "4+4:0+10", "8+2:0+10", "10+2:0+10",
                                          "12+2:0+10", "",         ""};
  EXPECT_EQ(texts, expected);
}

TEST(TileGrid, EmptyShapesHaveNoTiles) {
  const Tiling tiling = grid_tiling(4, 4, 2, 2);
  EXPECT_TRUE(tiles_of_core(0, 4, tiling, 0, 2, 1).empty());
  EXPECT_TRUE(tiles_of_core(4, 0, tiling, 0, 2, 4).empty());
  EXPECT_TRUE(tiles_of_core(1, 1, tiling, 1, 2, 1).empty());
}

// Counts how often each element occurs over all cores.
std::vector<int> coverage(std::int64_t rows, std::int64_t columns, const Tiling& tiling, int cores,
                          int window) {
  std::vector<int> counts(static_cast<std::size_t>(rows * columns), 0);
  for (int core = 0; core < cores; ++core) {
    for (const Tile& tile : tiles_of_core(rows, columns, tiling, core, cores, window)) {
      EXPECT_GT(tile.rows.count, 0);
      EXPECT_GT(tile.columns.count, 0);
      EXPECT_LE(tile.rows.count, tiling.base_m);
      EXPECT_LE(tile.columns.count, tiling.base_n);
      EXPECT_TRUE(tile.rows.first >= 0 && tile.rows.end() <= rows);
      EXPECT_TRUE(tile.columns.first >= 0 && tile.columns.end() <= columns);
      if (::testing::Test::HasFailure()) return counts;
      for (std::int64_t row = tile.rows.first; row < tile.rows.end(); ++row) {
        for (std::int64_t column = tile.columns.first; column < tile.columns.end(); ++column) {
          ++counts[static_cast<std::size_t>(row * columns + column)];
        }
      }
    }
  }
  return counts;
}

bool rows_ascend(std::int64_t rows, std::int64_t columns, const Tiling& tiling, int cores) {
  for (int core = 0; core < cores; ++core) {
    const std::vector<Tile> tiles = tiles_of_core(rows, columns, tiling, core, cores, 1);
    const bool sorted =
        std::is_sorted(tiles.begin(), tiles.end(),
                       [](const Tile& a, const Tile& b) { return a.rows.first < b.rows.first; });
    if (!sorted) return false;
  }
  return true;
}

TEST(TileGrid, RandomGridsCoverEachElementOnceAndRowsAscendWithWindowOne) {
  constexpr std::uint64_t kSeed = 20240611;
  Rng rng(kSeed);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
  };
  int split = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const std::int64_t rows = draw(1, 70);
    const std::int64_t columns = draw(1, 70);
    Tiling tiling = grid_tiling(rows, columns, draw(1, 20), draw(1, 20));
    tiling.m_tail_tile = static_cast<int>(draw(1, 4));
    tiling.n_tail_tile = static_cast<int>(draw(1, 4));
    const int cores = static_cast<int>(draw(1, 40));
    const int window = static_cast<int>(draw(1, 6));
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " trial " + std::to_string(trial));
    const std::vector<int> counts = coverage(rows, columns, tiling, cores, window);
    ASSERT_TRUE(std::all_of(counts.begin(), counts.end(), [](int n) { return n == 1; }));
    ASSERT_TRUE(rows_ascend(rows, columns, tiling, cores));
    const std::int64_t blocks = ((rows + tiling.base_m - 1) / tiling.base_m) *
                                ((columns + tiling.base_n - 1) / tiling.base_n);
    const std::int64_t last = (blocks - 1) % cores + 1;
    const int parts = tiling.m_tail_tile * tiling.n_tail_tile;
    if (parts > 1 && last * parts <= cores) ++split;
  }
  EXPECT_GT(split, 300);  // the cut of the last wave was exercised
}

TEST(TileGrid, TilingsOfRealDevicesCoverEachElementOnce) {
  constexpr std::uint64_t kSeed = 77;
  Rng rng(kSeed);
  Device device;
  device.memory = {.l1_bytes = 512 * 1024, .l0a_bytes = 64 * 1024, .l0c_bytes = 256 * 1024};
  int merged = 0;
  int split = 0;
  for (int trial = 0; trial < 250; ++trial) {
    TilingRequest request;
    request.m = 1 + static_cast<std::int64_t>(rng.below(2500));
    request.n = 1 + static_cast<std::int64_t>(rng.below(1500));
    request.k = 128 * (1 + static_cast<std::int64_t>(rng.below(8)));
    request.cores = 1 + static_cast<int>(rng.below(36));
    if (rng.below(2) == 0) request.tail_alignment = TailAlignment::on;
    const Tiling tiling = make_tiling(request, device);
    merged += tiling.m_base_tail_split > 1 || tiling.n_base_tail_split > 1 ? 1 : 0;
    split += tiling.m_tail_tile * tiling.n_tail_tile > 1 ? 1 : 0;
    const int window = rng.below(2) == 0 ? 1 : 4;
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " trial " + std::to_string(trial));
    const std::vector<int> counts =
        coverage(request.m, request.n, tiling, tiling.used_cores, window);
    ASSERT_TRUE(std::all_of(counts.begin(), counts.end(), [](int n) { return n == 1; }));
    ASSERT_TRUE(rows_ascend(request.m, request.n, tiling, tiling.used_cores));
  }
  EXPECT_GT(merged, 10);
  EXPECT_GT(split, 10);
}

}  // namespace
}  // namespace tandem
