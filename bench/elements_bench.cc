// SPDX-License-Identifier: Apache-2.0
// What touches every element once: quantise, decode, pack, reduce. Yardstick: moving the bytes.
#include <algorithm>
#include <cstring>

#include "bench/bench_support.h"
#include "benchmarking/limits.h"
#include "gemm/aligned_buffer.h"
#include "gemm/convert.h"
#include "gemm/simd/kernels.h"
#include "gemm/tile_product.h"
#include "mx/bf16.h"
#include "mx/formats.h"
#include "mx/quantise.h"

namespace tandem::bench {
namespace {

constexpr std::int64_t kRowLength = 4096;

std::int64_t row_count(std::int64_t wanted) { return only_checks() ? 2 : wanted; }

ElementFormat format_of(const benchmark::State& state) {
  return static_cast<ElementFormat>(state.range(0));
}

// FP32 → MX, 64 MiB of input, beside a copy of the input.
void quantise(benchmark::State& state) {
  const ElementFormat format = format_of(state);
  const std::int64_t rows = row_count(4096);
  const std::vector<float> values = draw_values(rows * kRowLength, 1);
  std::vector<std::uint8_t> codes(values.size());
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(rows * scale_row_bytes(kRowLength)));
  std::vector<float> copy(values.size());
  const auto ours = [&] {
    quantise_rows(values.data(), rows, kRowLength, kRowLength, format, ScaleMode::floor,
                  codes.data(), kRowLength, scales.data(), scale_row_bytes(kRowLength));
  };
  ours();
  const MxMatrix got{format,
                     rows,
                     kRowLength,
                     codes.data(),
                     kRowLength,
                     scales.data(),
                     scale_row_bytes(kRowLength)};
  dequantise_rows(got, copy.data(), kRowLength);
  // Half a step of the largest binade of a group, in which an element is a share of the scale.
  const double step = format == ElementFormat::e4m3 ? 0x1p-3 : 0x1p-2;
  for (std::size_t i = 0; i < copy.size(); ++i) {
    if (!(std::abs(copy[i] - values[i]) <= step * std::max(1.0f, std::abs(values[i])))) {
      return state.SkipWithError("a quantised value is far from what it was");
    }
  }
  run_beside(state, 1, ours,
             [&] { std::memcpy(copy.data(), values.data(), values.size() * sizeof(float)); });
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(values.size() * 4));
}
BENCHMARK(quantise)->Arg(0)->Arg(1)->UseManualTime()->Unit(benchmark::kMillisecond);

// Codes of one row → FP32, in L1 and L2, beside a copy of the result.
void decode(benchmark::State& state) {
  const Drawn drawn(format_of(state), 1, kRowLength, 1);
  const MxMatrix row = drawn.view();
  gemm::AlignedBuffer<float> values(kRowLength), other(kRowLength);
  const gemm::RowToBlocks step{.format = row.format,
                               .codes = row.codes,
                               .scales = row.scales,
                               .k = kRowLength,
                               .blocks = values.data(),
                               .block_stride = gemm::kBlock};
  const auto decode_row = gemm::kernels().row_to_blocks;
  decode_row(step);
  dequantise_rows(row, other.data(), kRowLength);
  if (std::memcmp(values.data(), other.data(), kRowLength * 4) != 0) {
    return state.SkipWithError("a decoded value differs from the codec's");
  }
  constexpr int kCalls = 100;
  run_beside(
      state, 1,
      [&] {
        for (int i = 0; i < kCalls; ++i) decode_row(step);
      },
      [&] {
        for (int i = 0; i < kCalls; ++i) {
          std::memcpy(other.data(), values.data(), kRowLength * 4);
          benchmark::ClobberMemory();
        }
      });
  state.SetItemsProcessed(state.iterations() * kCalls * kRowLength);
}
BENCHMARK(decode)->Arg(0)->Arg(1)->UseManualTime()->Unit(benchmark::kMicrosecond);

// B as it is prepared once per operator, 16 Mi weights, beside a read of their codes.
void pack_weights(benchmark::State& state) {
  const std::int64_t rows = only_checks() ? 40 : 4096;
  const Drawn drawn(format_of(state), rows, kRowLength, 1);
  const MxMatrix b = drawn.view();
  {
    // One row of A with a single one in column k reads B's row k back.
    const std::int64_t k = kRowLength / 3;
    std::vector<std::uint8_t> codes(kRowLength), scales(scale_row_bytes(kRowLength), 127);
    codes[k] = 0x38;  // 1 in E4M3
    const MxMatrix a{
        ElementFormat::e4m3,        1, kRowLength, codes.data(), kRowLength, scales.data(),
        scale_row_bytes(kRowLength)};
    const gemm::PackedWeights weights(std::span(&b, 1));
    gemm::PackedRows packed;
    packed.pack({&a, 1}, SumOrder::panel);
    std::vector<float> sums(static_cast<std::size_t>(rows)), values(kRowLength);
    gemm::multiply(packed, weights, 0, 0, rows, SumOrder::panel, gemm::Start::from_zero,
                   {sums.data(), rows}, {});
    for (std::int64_t row = 0; row < rows; ++row) {
      dequantise_rows(b.slice_rows(row, 1), values.data(), kRowLength);
      if (sums[static_cast<std::size_t>(row)] != values[k]) {
        return state.SkipWithError("a packed weight is not the codec's");
      }
    }
  }
  CacheFlush memory;
  const double share = static_cast<double>(rows * kRowLength) / static_cast<double>(memory.bytes());
  run_beside(
      state, share, [&] { const gemm::PackedWeights weights(std::span(&b, 1)); },
      [&] { memory.run(); });
  state.SetItemsProcessed(state.iterations() * rows * kRowLength);
}
BENCHMARK(pack_weights)->Arg(0)->Arg(1)->UseManualTime()->Unit(benchmark::kMillisecond);

// The sum of four ranks' bf16 rows, 64 MiB of them, beside a read of all bytes that it moves.
void reduce_four(benchmark::State& state) {
  constexpr int kRanks = 4;
  const std::int64_t rows = row_count(2048);
  std::vector<std::uint16_t> parts[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) {
    for (const float value : draw_values(rows * kRowLength, static_cast<std::uint64_t>(rank))) {
      parts[rank].push_back(encode_bf16(value));
    }
  }
  std::vector<std::uint16_t> out(static_cast<std::size_t>(rows * kRowLength));
  const auto ours = [&] {
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t first = row * kRowLength;
      const void* rows_to_sum[kRanks];
      for (int rank = 0; rank < kRanks; ++rank) rows_to_sum[rank] = parts[rank].data() + first;
      gemm::sum_rows(rows_to_sum, OutputType::bf16, kRowLength, OutputType::bf16,
                     out.data() + first);
    }
  };
  ours();
  for (std::size_t i = 0; i < out.size(); ++i) {
    float sum = decode_bf16(parts[0][i]);
    for (int rank = 1; rank < kRanks; ++rank) sum += decode_bf16(parts[rank][i]);
    if (out[i] != encode_bf16(sum)) return state.SkipWithError("a sum has not the codec's bits");
  }
  CacheFlush memory;
  const double bytes = static_cast<double>(rows * kRowLength * 2 * (kRanks + 1));
  run_beside(state, bytes / static_cast<double>(memory.bytes()), ours, [&] { memory.run(); });
}
BENCHMARK(reduce_four)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tandem::bench
