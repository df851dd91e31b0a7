// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "gemm/simd/kernels.h"
#include "mx/formats.h"
#include "mx/output.h"

namespace tandem::gemm {
namespace {

float decode(ElementFormat format, std::uint8_t code, std::uint8_t scale) {
  return format_traits(format).values[code] * std::bit_cast<float>(factor_bits(scale, 0));
}

float column_at(const PanelStep& step, std::int64_t k, std::int64_t column) {
  if (step.column_pairs == nullptr) return step.columns[k * kPanelColumns + column];
  const std::uint32_t pair = step.column_pairs[k / 2 * kPanelColumns + column];
  return std::bit_cast<float>(k % 2 == 0 ? pair & 0xFFFF0000u : pair << 16);
}

void panel_step(const PanelStep& step) {
  for (std::int64_t row = 0; row < step.row_count; ++row) {
    float* sums = step.sums + row * step.pitch;
    if (step.start == Start::from_zero) std::fill_n(sums, kPanelColumns, 0.0f);
    for (std::int64_t k = 0; k < step.depth; ++k) {
      const float a = step.rows[(k / kBlock * kPanelRows + row) * kBlock + k % kBlock];
      for (std::int64_t j = 0; j < kPanelColumns; ++j) {
        sums[j] = std::fma(a, column_at(step, k, j), sums[j]);
      }
    }
  }
}

void lane_pair(const LaneStep& step, const LanePair& pair, LanePartials& all) {
  for (int row = 0; row < step.row_count; ++row) {
    for (int column = 0; column < kLaneColumns; ++column) {
      float* partials = all[row][column];
      if (step.start == Start::from_zero) std::fill_n(partials, kBlock, 0.0f);
      for (std::int64_t k = 0; k < step.k; ++k) {
        const float a = step.rows[k / kBlock * step.block_stride + row * kBlock + k % kBlock];
        const float b = decode(step.format, pair.codes[column][k], pair.scales[column][k / kGroup]);
        partials[k % kBlock] = std::fma(a, b, partials[k % kBlock]);
      }
    }
  }
}

void lane_step(const LaneStep& step) {
  for (std::size_t i = 0; i < step.pairs.size(); ++i) {
    lane_pair(step, step.pairs[i], step.partials[i]);
  }
}

void lane_sums(const LanePartials& partials, int rows, LaneTotals& totals) {
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < kLaneColumns; ++column) {
      float tree[kBlock];
      std::copy_n(partials[row][column], kBlock, tree);
      for (std::int64_t half = kBlock / 2; half > 0; half /= 2) {
        for (std::int64_t i = 0; i < half; ++i) tree[i] += tree[i + half];
      }
      totals[row][column] = tree[0];
    }
  }
}

void columns_to_codes(const ColumnsToCodes& step) {
  for (int column = 0; column < kPanelColumns; ++column) {
    const bool there = column < step.count;
    for (std::int64_t k = 0; k < step.k; ++k) {
      step.panel[k * kPanelColumns + column] = there ? step.codes[column][k] : 0;
    }
    for (std::int64_t group = 0; group < ceil_div(step.k, kGroup); ++group) {
      step.panel_scales[group * kPanelColumns + column] = there ? step.scales[column][group] : 0;
    }
  }
}

void codes_to_panel(const CodesToPanel& step) {
  for (std::int64_t i = 0; i < step.depth * kPanelColumns; ++i) {
    const std::int64_t group = i / kPanelColumns / kGroup;
    step.panel[i] =
        decode(step.format, step.codes[i], step.scales[group * kPanelColumns + i % kPanelColumns]);
  }
}

void row_to_blocks(const RowToBlocks& step) {
  for (std::int64_t k = 0; k < round_up(step.k, kBlock); ++k) {
    step.blocks[k / kBlock * step.block_stride + k % kBlock] =
        k < step.k ? decode(step.format, step.codes[k], step.scales[k / kGroup]) : 0.0f;
  }
}

bool has_all_ones(const std::uint8_t* codes, std::int64_t count) {
  return std::any_of(codes, codes + count, [](std::uint8_t code) { return (code & 0x7F) == 0x7F; });
}

bool has_tiny(const float* sums, std::int64_t count) {
  return std::any_of(sums, sums + count, is_tiny);
}

void store_row(const float* sums, const float* bias, std::int64_t count, OutputType type,
               void* destination) {
  auto* out = static_cast<std::uint8_t*>(destination);
  for (std::int64_t j = 0; j < count; ++j) {
    const float value = bias == nullptr ? sums[j] : sums[j] + bias[j];
    round_to(type, value, out + j * element_bytes(type));
  }
}

void add_row(const float* sums, std::int64_t count, OutputType type, void* destination) {
  auto* out = static_cast<std::uint8_t*>(destination);
  for (std::int64_t j = 0; j < count; ++j) {
    float rounded = 0;
    round_to(type, sums[j], &rounded);
    void* element = out + j * element_bytes(type);
    round_to(type, widen(type, element) + widen(type, &rounded), element);
  }
}

void widen_row(const void* source, OutputType type, std::int64_t count, Start start, float* sums) {
  const auto* in = static_cast<const std::uint8_t*>(source);
  for (std::int64_t j = 0; j < count; ++j) {
    const float value = widen(type, in + j * element_bytes(type));
    sums[j] = start == Start::from_zero ? value : sums[j] + value;
  }
}

void sum_rows(const RowsToSum& step) {
  auto* out = static_cast<std::uint8_t*>(step.destination);
  const auto element = [&](const void* row, std::int64_t j) {
    return widen(step.from, static_cast<const std::uint8_t*>(row) + j * element_bytes(step.from));
  };
  for (std::int64_t j = 0; j < step.count; ++j) {
    float sum = element(step.rows[0], j);
    for (const void* row : step.rows.subspan(1)) sum += element(row, j);
    round_to(step.to, sum, out + j * element_bytes(step.to));
  }
}

std::int64_t multiply_add_chains(std::int64_t steps) {
  float chains[4] = {1, 2, 3, 4};
  for (std::int64_t step = 0; step < steps; ++step) {
    for (float& chain : chains) chain = std::fma(chain, 0.5f, 1.0f);
  }
  const bool impossible = chains[0] + chains[1] + chains[2] + chains[3] == 0.0f;
  return impossible ? 0 : steps * 4 * 2;
}

}  // namespace

const Kernels& portable_kernels() {
  static const Kernels table = {
      .name = "portable",
      .panels_max = 1,
      .flops_per_us = 400,
      .lane_flops_per_us = 400,
      .panel_step = panel_step,
      .lane_step = lane_step,
      .lane_sums = lane_sums,
      .columns_to_codes = columns_to_codes,
      .codes_to_panel = codes_to_panel,
      .row_to_blocks = row_to_blocks,
      .has_all_ones = has_all_ones,
      .has_tiny = has_tiny,
      .store_row = store_row,
      .add_row = add_row,
      .widen_row = widen_row,
      .sum_rows = sum_rows,
      .multiply_add_chains = multiply_add_chains,
  };
  return table;
}

}  // namespace tandem::gemm
