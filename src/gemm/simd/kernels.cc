// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set (Highway's foreach_target); the tables are collected below.

// Instruction sets without a fused multiply-add gain nothing over portable_kernels(); SVE's
// sizeless vectors cannot be members of the kernels' structs.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm/simd/kernels.cc"
#include "gemm/simd/kernels.h"

#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || \
    HWY_TARGET == HWY_NEON
#include "gemm/simd/columns_inl.h"
#include "gemm/simd/convert_inl.h"
#include "gemm/simd/decode_inl.h"
#include "gemm/simd/lane_kernel_inl.h"
#include "gemm/simd/lane_pairs_inl.h"
#include "gemm/simd/lane_rows_inl.h"
#include "gemm/simd/pair_products_inl.h"
#include "gemm/simd/panel_kernel_inl.h"
#include "gemm/simd/peak_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

const Kernels* kernel_table() {
  static const Kernels table = {
      .name = hwy::TargetName(HWY_TARGET),
      .panels_max = kPanelsMax,
      .row_panels_max = kPanelsMax,
      .flops_per_us = 60'000,
      .lane_flops_per_us = 15'000,
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
      .pair_chains = kHasPairProducts ? pair_chains : nullptr,
  };
  return &table;
}

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#else

HWY_BEFORE_NAMESPACE();
namespace tandem::gemm::HWY_NAMESPACE {

const Kernels* kernel_table() { return nullptr; }

}  // namespace tandem::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <string_view>

#include "base/check.h"
#include "gemm/simd/pair_check.h"
#include "mx/formats.h"

namespace tandem::gemm {
namespace {

HWY_EXPORT(kernel_table);

// The table compiled for one target. A ChosenTarget of our own leaves Highway's alone.
const Kernels* table_of(std::int64_t target) {
#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
  static_cast<void>(target);
  return HWY_STATIC_DISPATCH(kernel_table)();
#else
  hwy::ChosenTarget chosen;
  chosen.Update(target);
  return HWY_DISPATCH_TABLE(kernel_table)[chosen.GetIndex()]();
#endif
}

// That of `base`, with products of pairs, if the machine has them and they sum as they must; or
// null.
const Kernels* with_pairs(const Kernels& base) {
  if (base.pair_chains == nullptr || !has_pair_products()) return nullptr;
  static Kernels table;
  table = base;
  table.name = "AVX3_BF16";
  table.multiplies_pairs = true;
  table.flops_per_us = 2 * base.flops_per_us;
  table.lane_flops_per_us = 2 * base.lane_flops_per_us;
  return pairs_sum_in_order(table) ? &table : nullptr;
}

std::vector<const Kernels*> find_kernels() {
  std::vector<const Kernels*> tables;
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const Kernels* table = table_of(target);
    if (table != nullptr) tables.push_back(table);
  }
  if (!tables.empty()) {
    if (const Kernels* best = with_pairs(*tables.front())) tables.insert(tables.begin(), best);
  }
  tables.push_back(&portable_kernels());
  return tables;
}

std::atomic<const Kernels*> forced_kernels{nullptr};

}  // namespace

const std::vector<const Kernels*>& all_kernels() {
  static const std::vector<const Kernels*> tables = find_kernels();
  return tables;
}

const Kernels& kernels() {
  const Kernels* forced = forced_kernels.load(std::memory_order_relaxed);
  return forced != nullptr ? *forced : *all_kernels().front();
}

std::vector<const char*> simd_targets() {
  std::vector<const char*> names;
  for (const Kernels* table : all_kernels()) names.push_back(table->name);
  return names;
}

void force_simd_target(const char* name) {
  const std::string_view wanted = name == nullptr ? "" : name;
  if (wanted.empty()) {
    forced_kernels.store(nullptr);
    return;
  }
  const auto& tables = all_kernels();
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const Kernels* table) { return wanted == table->name; });
  TANDEM_CHECK(found != tables.end(), "no SIMD target of this name on this machine");
  forced_kernels.store(*found);
}

bool row_needs_exact_path(const Kernels& table, const MxMatrix& matrix, std::int64_t row) {
  const FormatTraits& format = format_traits(matrix.format);
  const std::uint8_t* scales = matrix.scale_row(row);
  const std::int64_t groups = ceil_div(matrix.k, kGroup);
  if (std::any_of(scales, scales + groups,
                  [&](std::uint8_t s) { return s > format.scale_limit; })) {
    return true;
  }
  // The one format whose NaN asks for the exact path has it at the largest magnitude.
  return format.nan_is_exact_path && table.has_all_ones(matrix.row(row), matrix.k);
}

const std::uint8_t* bf16_bytes_of(ElementFormat format) {
  struct Bytes {
    alignas(64) std::uint8_t bytes[2 * 128];
    explicit Bytes(ElementFormat of) {
      for (std::size_t code = 0; code < 128; ++code) {
        const auto bits = std::bit_cast<std::uint32_t>(format_traits(of).values[code]);
        bytes[code] = static_cast<std::uint8_t>(bits >> 16);
        bytes[128 + code] = static_cast<std::uint8_t>(bits >> 24);
      }
    }
  };
  static const Bytes e4m3(ElementFormat::e4m3), e5m2(ElementFormat::e5m2);
  return format == ElementFormat::e4m3 ? e4m3.bytes : e5m2.bytes;
}

bool row_is_coarse(const MxMatrix& matrix, std::int64_t row) {
  const FormatTraits& format = format_traits(matrix.format);
  const std::uint8_t* scales = matrix.scale_row(row);
  const std::int64_t groups = ceil_div(matrix.k, kGroup);
  // The smallest code above zero is the unit of all others.
  const int coarse = 127 - 63 - std::ilogb(format.values[1]);
  if (std::all_of(scales, scales + groups, [&](std::uint8_t s) { return s >= coarse; })) {
    return true;
  }
  for (std::int64_t group = 0; group < groups; ++group) {
    if (scales[group] >= coarse) continue;
    const std::uint8_t* codes = matrix.row(row) + group * kGroup;
    const std::int64_t count = std::min<std::int64_t>(kGroup, matrix.k - group * kGroup);
    if (std::any_of(codes, codes + count, [](std::uint8_t c) { return (c & 0x7F) != 0; })) {
      return false;
    }
  }
  return true;
}

}  // namespace tandem::gemm

#endif  // HWY_ONCE
