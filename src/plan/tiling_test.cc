// SPDX-License-Identifier: Apache-2.0
#include "plan/tiling.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "plan/swat.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr DeviceMemory kChip{
    .l1_bytes = 512 * 1024, .l0a_bytes = 64 * 1024, .l0c_bytes = 256 * 1024};

TilingRequest request(std::int64_t m, std::int64_t n, std::int64_t k, int cores = 32) {
  return {.m = m, .n = n, .k = k, .cores = cores};
}

Device chip_device() {
  Device device;
  device.memory = kChip;
  return device;
}

// The official shapes. `m` of an all-gather row is its logical M: R·(heads·tileM + padded tail).
struct OfficialShape {
  bool gather;
  std::int64_t rows;  // per rank
  std::int64_t n, k, m;
  std::int64_t scale_k_l1, blocks;
  std::pair<std::int64_t, std::pair<int, int>> tail_32, tail_28;  // tail tiles, parts
};

const std::vector<OfficialShape> kOfficialShapes{
    {true, 2048, 2560, 4096, 8192, 4096, 320, {0, {1, 1}}, {12, {2, 1}}},
    {true, 2061, 2560, 4096, 8256, 4096, 330, {10, {1, 3}}, {22, {1, 1}}},
    {true, 3072, 2560, 4096, 12288, 4096, 480, {0, {1, 1}}, {4, {2, 3}}},
    {true, 3085, 2560, 4096, 12352, 4096, 490, {10, {1, 3}}, {14, {1, 2}}},
    {true, 4096, 2560, 4096, 16384, 4096, 640, {0, {1, 1}}, {24, {1, 1}}},
    {true, 4109, 2560, 4096, 16448, 4096, 650, {10, {1, 3}}, {6, {2, 2}}},
    {true, 8192, 2560, 4096, 32768, 4096, 1280, {0, {1, 1}}, {20, {1, 1}}},
    {true, 8205, 2560, 4096, 32832, 4096, 1290, {10, {1, 3}}, {2, {4, 3}}},
    {true, 2048, 6144, 4096, 8192, 4096, 768, {0, {1, 1}}, {12, {2, 1}}},
    {true, 2061, 6144, 4096, 8256, 4096, 792, {24, {1, 1}}, {8, {1, 3}}},
    {true, 3072, 6144, 4096, 12288, 4096, 1152, {0, {1, 1}}, {4, {2, 3}}},
    {true, 3085, 6144, 4096, 12352, 4096, 1176, {24, {1, 1}}, {0, {1, 1}}},
    {true, 4096, 6144, 4096, 16384, 4096, 1536, {0, {1, 1}}, {24, {1, 1}}},
    {true, 4109, 6144, 4096, 16448, 4096, 1560, {24, {1, 1}}, {20, {1, 1}}},
    {true, 8192, 6144, 4096, 32768, 4096, 3072, {0, {1, 1}}, {20, {1, 1}}},
    {true, 8205, 6144, 4096, 32832, 4096, 3096, {24, {1, 1}}, {16, {1, 1}}},
    {false, 2048, 4096, 1792, 2048, 1792, 128, {0, {1, 1}}, {16, {1, 1}}},
    {false, 2048, 4096, 896, 2048, 768, 128, {0, {1, 1}}, {16, {1, 1}}},
    {false, 4096, 4096, 1792, 4096, 1792, 256, {0, {1, 1}}, {4, {3, 2}}},
    {false, 1024, 4096, 1792, 1024, 1792, 64, {0, {1, 1}}, {8, {3, 1}}},
    {false, 4096, 4096, 896, 4096, 768, 256, {0, {1, 1}}, {4, {3, 2}}},
    {false, 4040, 4096, 2048, 4040, 2048, 256, {0, {1, 1}}, {4, {2, 3}}},
};

TEST(Tiling, AgreesWithTheTableOfOfficialShapes) {
  ASSERT_EQ(kOfficialShapes.size(), 22u);
  const Device device = chip_device();
  for (const OfficialShape& shape : kOfficialShapes) {
    for (int cores : {32, 28}) {
      SCOPED_TRACE(std::to_string(shape.rows) + " x " + std::to_string(shape.n) + " x " +
                   std::to_string(shape.k) + " on " + std::to_string(cores));
      TilingRequest asked = request(shape.m, shape.n, shape.k, cores);
      if (shape.gather) {
        asked.edge_merge = EdgeMerge::off;
        asked.tail_alignment = TailAlignment::on;
      }
      const Tiling tiling = make_tiling(asked, device);
      EXPECT_EQ(tiling.m, shape.m);
      EXPECT_EQ(tiling.n, shape.n);
      EXPECT_EQ(tiling.k, shape.k);
      EXPECT_EQ(tiling.base_m, 256);
      EXPECT_EQ(tiling.base_n, 256);
      EXPECT_EQ(tiling.base_k, 128);
      EXPECT_EQ(tiling.step_k, 2);
      EXPECT_EQ(tiling.step_k * tiling.base_k, 256);  // kL1
      EXPECT_EQ(tiling.l0c_buffers, 1);
      EXPECT_EQ(tiling.buffers, 2);
      EXPECT_EQ(tiling.scale_k_l1, shape.scale_k_l1);
      EXPECT_EQ(tiling.used_cores, cores);
      const std::int64_t blocks =
          ceil_div(tiling.m, tiling.base_m) * ceil_div(tiling.n, tiling.base_n);
      EXPECT_EQ(blocks, shape.blocks);
      const auto& tail = cores == 32 ? shape.tail_32 : shape.tail_28;
      EXPECT_EQ(blocks % cores, tail.first);
      EXPECT_EQ(std::pair(tiling.m_tail_tile, tiling.n_tail_tile), tail.second);
    }
  }
}

struct AdjustCase {
  std::int64_t m, n, k;
  int cores;
  std::int64_t base_m, base_n, base_k;
  const char* why;
};

TEST(Tiling, AdjustsTheBaseBlockWhenCoresWouldIdle) {
  const std::vector<AdjustCase> cases{
      {128, 5120, 2560, 32, 128, 160, 128, "1 x 20 blocks: N over 32 cores, 5120/32 = 160"},
      {4096, 16, 512, 32, 128, 16, 256, "16 x 1: M over 32 cores; K up to 32768/128 = 256"},
      {16, 7168, 4096, 32, 16, 224, 128, "1 x 28: wide, but N has 32 blocks already"},
      {512, 256, 4096, 32, 64, 64, 512, "2 x 1 -> 16 x 256 -> 32 x 128 -> 64 x 64"},
      {256, 512, 4096, 32, 64, 64, 512, "1 x 2 -> 256 x 16 -> 128 x 32 -> 64 x 64"},
      {512, 512, 4096, 32, 64, 128, 256, "256 x 32 -> 128 x 64 -> 64 x 128: M at 2:1 goes on"},
      {16, 16, 4096, 32, 16, 16, 2048, "one block; K up to 32768/16"},
      {16, 16, 100, 32, 16, 16, 128, "K rounded up to 128"},
      {32, 17, 4096, 8, 16, 16, 2048, "as many blocks of 16 along M and N: M stays whole first"},
      {300, 100, 256, 8, 80, 64, 256, "2 x 1, N stays whole: 48 x 112 -> 80 x 64"},
  };
  for (const AdjustCase& item : cases) {
    SCOPED_TRACE(item.why);
    const Tiling tiling = swat_tiling(request(item.m, item.n, item.k, item.cores), kChip);
    EXPECT_EQ(tiling.base_m, item.base_m);
    EXPECT_EQ(tiling.base_n, item.base_n);
    EXPECT_EQ(tiling.base_k, item.base_k);
  }
}

TEST(Tiling, KeepsTheBaseBlockWhenEveryCoreHasOne) {
  // 8 x 4 blocks are enough for 32 cores; for 64 M is cut in 64/4 = 16.
  EXPECT_EQ(swat_tiling(request(2048, 1024, 512, 32), kChip).base_m, 256);
  EXPECT_EQ(swat_tiling(request(2048, 1024, 512, 64), kChip).base_m, 128);
  EXPECT_EQ(swat_tiling(request(2048, 1024, 512, 64), kChip).base_n, 256);
  const Tiling tiny = swat_tiling(request(1, 1, 1, 1), kChip);
  EXPECT_EQ(tiny.base_m, 16);
  EXPECT_EQ(tiny.base_n, 16);
  EXPECT_EQ(tiny.base_k, 64);
  EXPECT_EQ(tiny.used_cores, 1);
}

TEST(Tiling, WithoutTransposedBAlignsColumnsToCacheLines) {
  // N 100 -> up to 32: 128. With 1 x 1 blocks at most for 32 cores nothing is adjusted.
  TilingRequest asked = request(16, 100, 512, 32);
  asked.trans_b = false;
  EXPECT_EQ(swat_tiling(asked, kChip).base_n, 128);
  // m_max 4 · n_max 8 = 32: adjusted; M stays whole, N is cut in lines of 128.
  asked = request(64, 1024, 512, 32);
  asked.trans_b = false;
  const Tiling tiling = swat_tiling(asked, kChip);
  EXPECT_EQ(tiling.base_m, 64);
  EXPECT_EQ(tiling.base_n, 128);
  // The columns of a B that is not transposed never share an edge.
  asked = request(512, 16 * 256 + 16, 4096, 4);
  asked.trans_b = false;
  EXPECT_EQ(swat_tiling(asked, kChip).n_base_tail_split, 1);
  asked.trans_b = true;
  EXPECT_GT(swat_tiling(asked, kChip).n_base_tail_split, 1);
}

TEST(Tiling, HalvesALongBaseK) {
  // L0A of 1 MiB: K up to 32768; 10112 is beyond 4095, so 10112/2 = 5056 -> 5120.
  DeviceMemory memory = kChip;
  memory.l0a_bytes = 1024 * 1024;
  EXPECT_EQ(swat_tiling(request(16, 16, 10000, 32), memory).base_k, 5120);
  EXPECT_EQ(swat_tiling(request(16, 16, 3900, 32), memory).base_k, 3968);
}

TEST(Tiling, HalvesBaseMOnlyOnRequest) {
  // 32 blocks for 32 cores: one per core.
  const TilingRequest asked = request(2048, 1024, 4096, 32);
  EXPECT_EQ(swat_tiling(asked, kChip).base_m, 256);
  const Tiling halved = swat_tiling(asked, kChip, BaseHalving::on);
  EXPECT_EQ(halved.base_m, 128);
  EXPECT_EQ(halved.base_n, 256);
  EXPECT_EQ(halved.l0c_buffers, 2);  // 2 · 128 · 256 · 4 = 256 KiB
  // Two per core, or a single block row: unchanged.
  EXPECT_EQ(swat_tiling(request(4096, 1024, 4096, 32), kChip, BaseHalving::on).base_m, 256);
  EXPECT_EQ(swat_tiling(request(256, 8192, 4096, 32), kChip, BaseHalving::on).base_m, 256);
}

TEST(Tiling, EdgeBlocksShareTheRemainderWhereThatShortensTheLastWindow) {
  struct Case {
    std::int64_t m;
    int split;
    std::int64_t main;
    const char* why;
  };
  const std::vector<Case> cases{
      {784, 4, 208, "3 · 256 + 16: (768 + 16)/4 = 196 -> 208"},
      {4040, 1, 0, "rest 200: at most 3 blocks may merge, the last window has 4"},
      {1808, 4, 208, "7 · 256 + 16: 256 + 208 beats 2 · 240 of eight merged blocks"},
      {2916, 8, 240, "11 · 256 + 100: 256 + 2 · 240 = 736 equals 512 + 224, later wins"},
      {2832, 12, 240, "11 · 256 + 16: 3 · 240 = 720 equals 512 + 208, later wins"},
      {2048, 1, 0, "no remainder"},
      {200, 1, 0, "one block row"},
  };
  for (const Case& item : cases) {
    SCOPED_TRACE(item.why);
    // Eight cores, 16 block columns: the base block is never adjusted.
    const Tiling rows = swat_tiling(request(item.m, 4096, 4096, 8), kChip);
    EXPECT_EQ(rows.m_base_tail_split, item.split);
    EXPECT_EQ(rows.m_tail_main, item.main);
    EXPECT_EQ(rows.n_base_tail_split, 1);
    const Tiling columns = swat_tiling(request(4096, item.m, 4096, 8), kChip);
    EXPECT_EQ(columns.n_base_tail_split, item.split);
    EXPECT_EQ(columns.n_tail_main, item.main);
    EXPECT_EQ(columns.m_base_tail_split, 1);
  }
}

TEST(Tiling, EdgeMergeNeedsWholeLinesOfKAndTheOption) {
  TilingRequest asked = request(784, 4096, 4096, 8);
  asked.edge_merge = EdgeMerge::off;
  EXPECT_EQ(swat_tiling(asked, kChip).m_base_tail_split, 1);
  EXPECT_EQ(swat_tiling(request(784, 4096, 4000, 8), kChip).m_base_tail_split, 1);
}

TEST(Tiling, ASingleTileUsesOnlyTheCoresItsPartsNeed) {
  // A block of 16 x 16 cannot be cut.
  const Tiling tiling = swat_tiling(request(16, 16, 4096, 32), kChip);
  EXPECT_EQ(tiling.used_cores, 1);
  EXPECT_EQ(tiling.m_tail_tile, 1);
  // 32 x 16 makes two blocks of 16 x 16: all cores count, most have nothing to do.
  EXPECT_EQ(swat_tiling(request(32, 16, 4096, 32), kChip).used_cores, 32);
}

TEST(Tiling, ScalesAreLoadedForAsManyStepsAsL1Holds) {
  // 64 x 64 x 512: A 32768 + 1024, unit 67584, depth 4 (135168 > 64 KiB, kept), step 2.
  // Factor 65536/1024 = 64, at most 32 of 1 KiB; room (524288 - 262144)/8192 = 32.
  const Tiling tiling = swat_tiling(request(512, 256, 65536, 32), kChip);
  EXPECT_EQ(tiling.base_k, 512);
  EXPECT_EQ(tiling.step_k, 2);
  EXPECT_EQ(tiling.scale_k_l1, 32 * 1024);
  // L1 of 288 KiB: depth 4 leaves (294912 - 262144)/8192 = 4 loads.
  DeviceMemory memory = kChip;
  memory.l1_bytes = 288 * 1024;
  EXPECT_EQ(swat_tiling(request(512, 256, 65536, 32), memory).scale_k_l1, 4 * 1024);
}

TEST(Tiling, AThinSideMayHoldMoreAndStepsEndAtFour) {
  // 16 x 256 x 128: A 2048 + 64, B 32768 + 1024, unit 35904; the scales of A take 64 bytes a block.
  TilingRequest asked = request(16, 8192, 65536, 32);
  // Depth 8 leaves 237056: A 12 times as deep does not fit beside B and grows alone; steps 48 and 4
  // become 4 and 4, depths 8 and 8. Room (524288 - 278528)/8704 = 28 loads, the rest goes to A.
  const Tiling wide = swat_tiling(asked, kChip);
  EXPECT_EQ(wide.step_k, 4);
  EXPECT_EQ(wide.scale_k_l1, 28 * 512);
  // L1 of 100000: depth 2 leaves 28192, A 4 times as deep: steps 4 and 1. Room 18080/2560 = 7
  // loads of 128 (B) and 512 (A).
  DeviceMemory memory = kChip;
  memory.l1_bytes = 100000;
  const Tiling small = swat_tiling(asked, memory);
  EXPECT_EQ(small.step_k, 1);
  EXPECT_EQ(small.scale_k_l1, 7 * 128);
  // The largest depth is below L1, not equal: 4 units of 67584 leave depth 2.
  memory.l1_bytes = 4 * 67584;
  EXPECT_EQ(swat_tiling(request(8192, 8192, 4096), memory).step_k, 1);
  memory.l1_bytes += 1;
  EXPECT_EQ(swat_tiling(request(8192, 8192, 4096), memory).step_k, 2);
  // 16 x 16 x 128 on one core: at most 127 loads of 512 per load of scales.
  EXPECT_EQ(swat_tiling(request(16, 16, 131072, 1), kChip).scale_k_l1, 127 * 512);
}

TEST(Tiling, AnL1OfOneBlockStillTakesSteps) {
  // A unit of 256 x 256 x 128 takes 67584 bytes; half of the depth of 1 is no step.
  DeviceMemory memory = kChip;
  memory.l1_bytes = 67584;
  const Tiling one = swat_tiling(request(8192, 8192, 4096, 32), memory);
  EXPECT_EQ(one.step_k, 1);
  EXPECT_EQ(one.buffers, 1);
  EXPECT_EQ(one.scale_k_l1, 128);
  memory.l1_bytes = 2 * 67584 + 1;
  const Tiling two = swat_tiling(request(8192, 8192, 4096, 32), memory);
  EXPECT_EQ(two.step_k, 1);
  EXPECT_EQ(two.buffers, 2);
}

TEST(Tiling, RefusesBuffersThatHoldNoBaseBlockWithEveryReason) {
  const DeviceMemory memory{.l1_bytes = 60000, .l0a_bytes = 60000, .l0c_bytes = 200000};
  try {
    swat_tiling(request(8192, 8192, 4096, 32), memory);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    const std::string text = error.what();
    EXPECT_NE(text.find("67584 bytes of L1, the device has 60000"), std::string::npos) << text;
    EXPECT_NE(text.find("65536 bytes of L0A, the device has 60000"), std::string::npos) << text;
    EXPECT_NE(text.find("262144 bytes of L0C, the device has 200000"), std::string::npos) << text;
  }
}

TEST(Tiling, TheL1PlanFitsForAnyShapeAndSize) {
  // What SWAT chose must fit: data of 2·stepK blocks and scales twice per load of scales.
  for (std::int64_t l1 = 70 * 1024; l1 <= 1024 * 1024; l1 += 7 * 1024 + 32) {
    DeviceMemory memory = kChip;
    memory.l1_bytes = l1;
    for (std::int64_t m : {1, 40, 300, 5000}) {
      for (std::int64_t n : {16, 700, 4096}) {
        for (std::int64_t k : {1, 65, 896, 4096, 100000}) {
          const Tiling tiling = swat_tiling(request(m, n, k, 32), memory);
          ASSERT_GE(tiling.step_k, 1);
          ASSERT_LE(tiling.step_k, 4);
          ASSERT_GE(tiling.scale_k_l1, tiling.base_k);
          const std::int64_t k_l1 = tiling.step_k * tiling.base_k;
          const std::int64_t edge = tiling.base_m + tiling.base_n;
          const std::int64_t scales = edge * round_up(ceil_div(tiling.scale_k_l1, 32), 2);
          ASSERT_LE(tiling.buffers * (edge * k_l1 + scales), l1)
              << m << " x " << n << " x " << k << " with L1 " << l1;
        }
      }
    }
  }
}

TEST(Tiling, AFixedBaseBlockIsClampedToTheShape) {
  Device device;
  device.base_m = 144;
  device.base_n = 256;
  const Tiling small = make_tiling(request(100, 300, 77, 5), device);
  EXPECT_EQ(small.base_m, 100);
  EXPECT_EQ(small.base_n, 256);
  EXPECT_EQ(small.base_k, 77);
  EXPECT_EQ(small.used_cores, 5);
  EXPECT_EQ(small.l0c_buffers, 2);
  EXPECT_EQ(small.m_tail_tile * small.n_tail_tile, 1);
  const Tiling large = make_tiling(request(1000, 1000, 4096, 7), device);
  EXPECT_EQ(large.base_m, 144);
  EXPECT_EQ(large.used_cores, 7);
}

}  // namespace
}  // namespace tandem
