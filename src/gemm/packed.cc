// SPDX-License-Identifier: Apache-2.0
#include "gemm/packed.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "gemm/float_state.h"

namespace tandem::gemm {
namespace {

void copy_canonical(const MxMatrix& source, WeightSegment& segment) {
  const auto pitch = round_up(source.k, static_cast<std::int64_t>(kCacheLine));
  const std::int64_t scale_bytes = scale_row_bytes(source.k);
  segment.codes = AlignedBuffer<std::uint8_t>(tandem::multiply({source.rows, pitch}));
  segment.scales = AlignedBuffer<std::uint8_t>(tandem::multiply({source.rows, scale_bytes}));
  segment.canonical = {.format = source.format,
                       .rows = source.rows,
                       .k = source.k,
                       .codes = segment.codes.data(),
                       .pitch = pitch,
                       .scales = segment.scales.data(),
                       .scale_pitch = scale_bytes};
  if (source.k == 0) return;
  const std::int64_t groups = ceil_div(source.k, kGroup);
  for (std::int64_t row = 0; row < source.rows; ++row) {
    std::uint8_t* codes = segment.codes.data() + row * pitch;
    std::memcpy(codes, source.row(row), static_cast<std::size_t>(source.k));
    std::fill(codes + source.k, codes + pitch, std::uint8_t{0});
    std::uint8_t* scales = segment.scales.data() + row * scale_bytes;
    std::memcpy(scales, source.scale_row(row), static_cast<std::size_t>(groups));
    std::fill(scales + groups, scales + scale_bytes, std::uint8_t{0});
  }
}

// K's of a panel that are transposed before they are decoded: they stay in L1.
constexpr std::int64_t kChunkDepth = 128;
static_assert(kChunkDepth % kGroup == 0);

// Marks the columns that need the exact path.
void find_exact_columns(WeightSegment& segment) {
  const std::int64_t columns = segment.canonical.rows;
  segment.exact.resize(static_cast<std::size_t>(columns));
  for (std::int64_t column = 0; column < columns; ++column) {
    if (!row_needs_exact_path(kernels(), segment.canonical, column)) continue;
    segment.exact[static_cast<std::size_t>(column)] = 1;
    segment.exact_columns.push_back(column);
  }
}

// Columns of a panel from `first_k` on, at most a chunk of them.
ColumnsToCodes chunk_of(const WeightSegment& segment, std::int64_t panel, std::int64_t first_k) {
  const std::int64_t first = panel * kPanelColumns;
  ColumnsToCodes step{
      .count = static_cast<int>(std::min(kPanelColumns, segment.canonical.rows - first)),
      .k = std::min(kChunkDepth, segment.k - first_k)};
  for (int column = 0; column < step.count; ++column) {
    step.codes[column] = segment.canonical.row(first + column) + first_k;
    step.scales[column] = segment.canonical.scale_row(first + column) + first_k / kGroup;
  }
  return step;
}

// The upper halves of FP32 values, as pairs; false if a lower half is not 0.
bool narrow(const float* values, std::int64_t depth, std::uint32_t* pairs) {
  std::uint32_t lost = 0;
  for (std::int64_t k = 0; k < depth; k += 2) {
    for (std::int64_t column = 0; column < kPanelColumns; ++column) {
      const float* value = values + k * kPanelColumns + column;
      const auto first = std::bit_cast<std::uint32_t>(value[0]);
      const auto second =
          k + 1 < depth ? std::bit_cast<std::uint32_t>(value[kPanelColumns]) : std::uint32_t{0};
      lost |= (first | second) & 0xFFFFu;
      pairs[k / 2 * kPanelColumns + column] = (first & 0xFFFF0000u) | second >> 16;
    }
  }
  return lost == 0;
}

// Calls take(panel, k, values, depth) with each chunk of a panel, decoded; ends early, with false,
// when `take` returns false.
template <typename Take>
bool decode_panels(const WeightSegment& segment, const Take& take) {
  const Kernels& table = kernels();
  const std::int64_t panels = ceil_div(segment.canonical.rows, kPanelColumns);
  alignas(kCacheLine) std::uint8_t codes[kChunkDepth * kPanelColumns];
  alignas(kCacheLine) std::uint8_t scales[kChunkDepth / kGroup * kPanelColumns];
  alignas(kCacheLine) float values[kChunkDepth * kPanelColumns];
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    for (std::int64_t k = 0; k < segment.k; k += kChunkDepth) {
      ColumnsToCodes step = chunk_of(segment, panel, k);
      step.panel = codes;
      step.panel_scales = scales;
      table.columns_to_codes(step);
      table.codes_to_panel({.format = segment.canonical.format,
                            .codes = codes,
                            .scales = scales,
                            .depth = step.k,
                            .panel = values});
      if (!take(panel, k, values, step.k)) return false;
    }
  }
  return true;
}

// An infinity or a NaN of E5M2.
bool has_infinity(const MxMatrix& matrix, std::int64_t row) {
  if (matrix.format != ElementFormat::e5m2) return false;
  int largest = 0;
  for (std::int64_t k = 0; k < matrix.k; ++k)
    largest = std::max(largest, matrix.row(row)[k] & 0x7F);
  return largest >= 0x7C;
}

void find_coarse_panels(WeightSegment& segment) {
  const std::int64_t columns = segment.canonical.rows;
  segment.coarse.assign(static_cast<std::size_t>(ceil_div(columns, kPanelColumns)), 1);
  for (std::int64_t column = 0; column < columns; ++column) {
    if (row_is_coarse(segment.canonical, column) && !has_infinity(segment.canonical, column)) {
      continue;
    }
    segment.coarse[static_cast<std::size_t>(column / kPanelColumns)] = 0;
  }
}

void make_panels(WeightSegment& segment) {
  const std::int64_t panels = ceil_div(segment.canonical.rows, kPanelColumns);
  segment.pair_panels =
      AlignedBuffer<std::uint32_t>(tandem::multiply({panels, segment.pair_stride()}));
  const bool exact = decode_panels(
      segment, [&](std::int64_t panel, std::int64_t k, const float* values, std::int64_t depth) {
        const std::int64_t first = panel * segment.pair_stride() + k / 2 * kPanelColumns;
        return narrow(values, depth, segment.pair_panels.data() + first);
      });
  if (exact) return;
  segment.pair_panels = AlignedBuffer<std::uint32_t>();
  segment.panels = AlignedBuffer<float>(tandem::multiply({panels, segment.panel_stride()}));
  decode_panels(segment,
                [&](std::int64_t panel, std::int64_t k, const float* values, std::int64_t depth) {
                  const std::int64_t first = panel * segment.panel_stride() + k * kPanelColumns;
                  std::copy_n(values, depth * kPanelColumns, segment.panels.data() + first);
                  return true;
                });
}

// Where row `row` of the tile begins, and how far apart its blocks of 16 k's lie.
RowToBlocks place_row(PackedRows::Impl& impl, std::int64_t row) {
  if (impl.order == SumOrder::lane) {
    return {.blocks = impl.blocks.data() + row * kBlock, .block_stride = impl.rows * kBlock};
  }
  const std::int64_t panel = row / kPanelRows;
  return {.blocks = impl.blocks.data() + panel * impl.panel_stride() + row % kPanelRows * kBlock,
          .block_stride = kPanelRows * kBlock};
}

RowToBlocks place_pairs(PackedRows::Impl& impl, std::int64_t row) {
  if (impl.order == SumOrder::lane) {
    return {.group_pairs = impl.pairs.data() + row * kBlock, .block_stride = impl.rows * kBlock};
  }
  const std::int64_t panel = row / kPanelRows;
  return {.pairs = impl.pairs.data() + panel * impl.pair_stride() + row % kPanelRows * kBlockPairs,
          .block_stride = kPanelRows * kBlockPairs};
}

// Decodes all rows to where `place` says and fills up their panel with zeros; in lane order there
// is nothing to fill up.
template <typename Place>
void decode_rows(PackedRows::Impl& impl, const Place& place) {
  const Kernels& table = kernels();
  std::int64_t row = 0;
  for (const MxMatrix& part : impl.parts) {
    for (std::int64_t part_row = 0; part_row < part.rows; ++part_row, ++row) {
      RowToBlocks step = place(impl, row);
      step.format = part.format;
      step.codes = part.row(part_row);
      step.scales = part.scale_row(part_row);
      step.k = part.k;
      table.row_to_blocks(step);
    }
  }
  for (; row < impl.padded_rows(); ++row) {
    const RowToBlocks step = place(impl, row);
    for (std::int64_t block = 0; block < impl.k_blocks(); ++block) {
      const std::int64_t first = block * step.block_stride;
      if (step.pairs != nullptr) {
        std::fill_n(step.pairs + first, kBlockPairs, 0u);
      } else {
        std::fill_n(step.blocks + first, kBlock, 0.0f);
      }
    }
  }
}

// Marks the rows that need the exact path; true if all rows are coarse.
bool look_at_rows(PackedRows::Impl& impl) {
  const Kernels& table = kernels();
  impl.exact.assign(static_cast<std::size_t>(impl.rows), 0);
  impl.exact_count = 0;
  bool coarse = true;
  std::size_t row = 0;
  for (const MxMatrix& part : impl.parts) {
    for (std::int64_t part_row = 0; part_row < part.rows; ++part_row, ++row) {
      coarse = coarse && row_is_coarse(part, part_row);
      if (!row_needs_exact_path(table, part, part_row)) continue;
      impl.exact[row] = 1;
      ++impl.exact_count;
    }
  }
  return coarse;
}

}  // namespace

PackedWeights::PackedWeights(std::span<const MxMatrix> segments, SumOrder order)
    : impl_(std::make_unique<Impl>()) {
  const FloatState state;
  if (!segments.empty()) impl_->columns = segments.front().rows;
  for (const MxMatrix& segment : segments) {
    TANDEM_CHECK(segment.rows == impl_->columns, "the K segments of B differ in columns");
    TANDEM_CHECK(segment.format == segments.front().format, "the K segments of B differ in format");
    WeightSegment& packed = impl_->segments.emplace_back();
    packed.k = segment.k;
    copy_canonical(segment, packed);
    find_exact_columns(packed);
    find_coarse_panels(packed);
    if (order == SumOrder::panel) make_panels(packed);
  }
}

PackedWeights::~PackedWeights() = default;
PackedWeights::PackedWeights(PackedWeights&&) noexcept = default;
PackedWeights& PackedWeights::operator=(PackedWeights&&) noexcept = default;

std::int64_t PackedWeights::columns() const { return impl_->columns; }

int PackedWeights::segments() const { return static_cast<int>(impl_->segments.size()); }

std::int64_t PackedWeights::bytes() const {
  std::int64_t bytes = 0;
  for (const WeightSegment& segment : impl_->segments) {
    bytes += segment.panels.size() * static_cast<std::int64_t>(sizeof(float));
    bytes += segment.pair_panels.size() * static_cast<std::int64_t>(sizeof(std::uint32_t));
    bytes += static_cast<std::int64_t>(segment.coarse.size());
    bytes += segment.codes.size() + segment.scales.size();
    bytes += static_cast<std::int64_t>(segment.exact.size());
    bytes += static_cast<std::int64_t>(segment.exact_columns.capacity() * sizeof(std::int64_t));
  }
  return bytes;
}

PackedRows::PackedRows() : impl_(std::make_unique<Impl>()) {}
PackedRows::~PackedRows() = default;

std::int64_t PackedRows::rows() const { return impl_->rows; }

void PackedRows::pack(std::span<const MxMatrix> parts, SumOrder order) {
  const FloatState state;
  Impl& impl = *impl_;
  impl.rows = 0;
  impl.k = parts.empty() ? 0 : parts.front().k;
  impl.order = order;
  impl.parts.assign(parts.begin(), parts.end());
  for (const MxMatrix& part : parts) {
    TANDEM_CHECK(part.k == impl.k, "the parts of a tile's rows differ in k");
    TANDEM_CHECK(part.format == parts.front().format,
                 "the parts of a tile's rows differ in format");
    impl.rows += part.rows;
  }
  const bool coarse = look_at_rows(impl);
  impl.has_blocks = impl.has_pairs = false;
  if (coarse && kernels().multiplies_pairs) {
    impl.pack_pairs();
  } else {
    impl.pack_blocks();
  }
}

void PackedRows::Impl::pack_blocks() {
  blocks.grow(tandem::multiply({padded_rows(), k_blocks(), kBlock}));
  decode_rows(*this, place_row);
  has_blocks = true;
}

void PackedRows::Impl::pack_pairs() {
  pairs.grow(order == SumOrder::panel ? tandem::multiply({padded_rows(), k_blocks(), kBlockPairs})
                                      : tandem::multiply({rows, even_groups(), kBlock}));
  decode_rows(*this, place_pairs);
  has_pairs = true;
}

bool WeightSegment::is_coarse(std::int64_t first, std::int64_t count) const {
  const auto begin = coarse.begin() + first / kPanelColumns;
  const auto end = coarse.begin() + ceil_div(first + count, kPanelColumns);
  return std::all_of(begin, end, [](std::uint8_t panel) { return panel != 0; });
}

}  // namespace tandem::gemm
