// SPDX-License-Identifier: Apache-2.0
// A compiler that spills the micro-kernels' accumulators makes them several times slower and leaves
// every result right. The yardstick is the best that this core can do, in the same process: fused
// multiply-adds on registers alone. Both are the fastest of many short samples, so that other
// programs disturb neither.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

#include "gemm/aligned_buffer.h"
#include "gemm/simd/kernels.h"

namespace tandem::gemm {
namespace {

constexpr std::int64_t kDepth = 128;
constexpr int kSamples = 2000;

double best_of(double before, const std::function<double()>& flops_of_a_sample) {
  const auto start = std::chrono::steady_clock::now();
  const double flops = flops_of_a_sample();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return std::max(before, flops / time.count());
}

// The share of the peak that `step` reaches, which does `flops`.
double share_of_peak(const Kernels& table, double flops, const std::function<void()>& step) {
  double peak = 0, ours = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    peak = best_of(peak, [&] { return static_cast<double>(table.multiply_add_chains(2000)); });
    ours = best_of(ours, [&] {
      for (int call = 0; call < 8; ++call) step();
      return 8 * flops;
    });
  }
  return ours / peak;
}

bool is_compared(const Kernels& table) { return &table != &portable_kernels(); }

TEST(CodeGeneration, panelStepsKeepTheirAccumulatorsInRegisters) {
  for (const Kernels* table : all_kernels()) {
    if (!is_compared(*table)) continue;
    AlignedBuffer<float> rows(2 * kPanelRows * kDepth), columns(2 * kPanelColumns * kDepth);
    AlignedBuffer<std::uint16_t> bf16_columns(columns.size());
    AlignedBuffer<float> sums(2 * kPanelRows * 2 * kPanelColumns);
    std::fill_n(rows.data(), rows.size(), 0.5f);
    std::fill_n(columns.data(), columns.size(), 2.0f);
    std::fill_n(bf16_columns.data(), bf16_columns.size(), std::uint16_t{0x4000});
    for (int i = 0; i < 2 * table->row_panels_max; ++i) {
      const int row_panels = i / 2 + 1;
      const bool bf16 = i % 2 == 1;
      const PanelStep step{.rows = rows.data(),
                           .row_stride = kPanelRows * kDepth,
                           .row_count = row_panels * kPanelRows,
                           .columns = bf16 ? nullptr : columns.data(),
                           .bf16_columns = bf16 ? bf16_columns.data() : nullptr,
                           .panel_stride = kPanelColumns * kDepth,
                           .panels = table->panels_max,
                           .depth = kDepth,
                           .sums = sums.data(),
                           .pitch = table->panels_max * kPanelColumns};
      const double flops =
          2.0 * static_cast<double>(step.row_count * step.panels * kPanelColumns * kDepth);
      const double share = share_of_peak(*table, flops, [&] { table->panel_step(step); });
      // 0.93 to 0.99 on Zen 3 to 5 with GCC 12 and clang 14; with spills below 0.6.
      EXPECT_GT(share, 0.75) << table->name << ", " << step.row_count << " rows, bf16 " << bf16;
      RecordProperty(
          std::string(table->name) + (bf16 ? "_bf16_" : "_") + std::to_string(step.row_count),
          std::to_string(share));
    }
  }
}

TEST(CodeGeneration, laneStepsDecodeOnceForFourRows) {
  constexpr std::int64_t kStretch = 1024;
  for (const Kernels* table : all_kernels()) {
    if (!is_compared(*table)) continue;
    AlignedBuffer<float> rows(4 * kStretch);
    AlignedBuffer<std::uint8_t> codes(kLaneColumns * kStretch);
    AlignedBuffer<std::uint8_t> scales(kCacheLine);
    std::fill_n(rows.data(), rows.size(), 0.5f);
    std::fill_n(codes.data(), codes.size(), std::uint8_t{0x38});
    std::fill_n(scales.data(), scales.size(), std::uint8_t{127});
    alignas(kCacheLine) LanePartials partials;
    LanePair pair;
    for (int column = 0; column < kLaneColumns; ++column) {
      pair.codes[column] = codes.data() + column * kStretch;
      pair.scales[column] = scales.data();
      pair.next_codes[column] = pair.codes[column];
    }
    const LaneStep step{.rows = rows.data(),
                        .block_stride = 4 * kBlock,
                        .row_count = 4,
                        .k = kStretch,
                        .pairs = {&pair, 1},
                        .partials = &partials};
    const double flops = 2.0 * 4 * kLaneColumns * kStretch;
    LaneTotals totals;
    const double share = share_of_peak(*table, flops, [&] {
      table->lane_step(step);
      table->lane_sums(partials, step.row_count, totals);
    });
    // Decoding takes the rest: 0.5 on Zen 5, both instruction sets; with scalar trees of sums 0.2.
    EXPECT_GT(share, 0.3) << table->name;
    RecordProperty(table->name, std::to_string(share));
  }
}

}  // namespace
}  // namespace tandem::gemm
