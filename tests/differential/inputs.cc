// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <algorithm>

#include "mx/formats.h"
#include "mx/quantise.h"

namespace tandem::differential {
namespace {

constexpr std::uint8_t kPoison = 0xFF;  // NaN as a scale, NaN as an E4M3 code

// Rows of codes and scales in canonical order.
struct Rows {
  std::int64_t rows;
  std::int64_t k;
  ElementFormat format;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;

  std::int64_t groups() const { return ceil_div(k, kGroup); }
  std::uint8_t& code(std::int64_t row, std::int64_t index) { return codes[row * k + index]; }
  std::uint8_t& scale(std::int64_t row, std::int64_t group) {
    return scales[row * scale_row_bytes(k) + group];
  }
};

void fill_normal(Rows& out, Rng& rng) {
  std::vector<float> values(out.rows * out.k);
  for (float& value : values) value = rng.normal();
  // Rows and groups of different magnitude have different scales.
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t i = 0; i < out.k; ++i) {
      values[row * out.k + i] *= static_cast<float>(1 << ((row + i / kGroup) % 3));
    }
  }
  quantise_rows(values.data(), out.rows, out.k, out.k, out.format, ScaleMode::floor,
                out.codes.data(), out.k, out.scales.data(), scale_row_bytes(out.k));
}

// A value follows from its position: 32 magnitudes between 1/4 and 4, both signs.
void fill_coded(Rows& out, std::uint64_t salt) {
  const std::uint8_t first = out.format == ElementFormat::e4m3 ? 0x28 : 0x34;
  const std::uint64_t magnitudes = out.format == ElementFormat::e4m3 ? 32 : 16;
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t i = 0; i < out.k; ++i) {
      const std::uint64_t position = salt * 59 + row * 131 + i * 17;
      const bool negative = (row + i / 3 + salt) % 2 != 0;
      out.code(row, i) =
          static_cast<std::uint8_t>(first + position % magnitudes + (negative ? 0x80 : 0));
    }
    for (std::int64_t group = 0; group < out.groups(); ++group) {
      out.scale(row, group) = static_cast<std::uint8_t>(126 + (row + 2 * group + salt) % 3);
    }
  }
}

// Writes `code` to about one in `every` elements of a row.
void sprinkle(Rows& out, std::int64_t row, std::uint8_t code, std::uint64_t every, Rng& rng) {
  for (std::int64_t i = 0; i < out.k; ++i) {
    if (rng.below(every) == 0) out.code(row, i) = code;
  }
}

void fill_group_scale(Rows& out, std::int64_t row, std::uint8_t scale, Rng& rng) {
  out.scale(row, static_cast<std::int64_t>(rng.below(out.groups()))) = scale;
}

// One kind of special value in one row.
void make_special(Rows& out, std::int64_t row, Rng& rng) {
  const FormatTraits& traits = format_traits(out.format);
  const bool has_infinity = out.format == ElementFormat::e5m2;
  switch (rng.below(9)) {
    case 0:
      sprinkle(out, row, traits.nan_code, 8, rng);
      break;
    case 1:
      fill_group_scale(out, row, 0xFF, rng);
      break;
    case 2:
      fill_group_scale(out, row, static_cast<std::uint8_t>(traits.scale_limit + 1), rng);
      break;
    case 3:
      fill_group_scale(out, row, 0xFE, rng);
      break;
    case 4:
      sprinkle(out, row, has_infinity ? 0x7C : 0x7E, 8, rng);
      break;
    case 5:
      sprinkle(out, row, has_infinity ? 0xFC : 0xFE, 8, rng);
      break;
    case 6:
      sprinkle(out, row, 0x80, 2, rng);
      break;
    case 7:  // subnormal codes, with scales that make subnormal products
      sprinkle(out, row, 0x01, 2, rng);
      sprinkle(out, row, 0x83, 3, rng);
      for (std::int64_t group = 0; group < out.groups(); ++group) {
        out.scale(row, group) = static_cast<std::uint8_t>(rng.below(24));
      }
      break;
    case 8:  // zeros under the largest scale: the exact path of a sum that is 0
      sprinkle(out, row, 0x00, 1, rng);
      fill_group_scale(out, row, 0xFE, rng);
      break;
  }
}

void fill_extreme(Rows& out, Rng& rng) {
  fill_normal(out, rng);
  if (out.k == 0) return;
  for (std::int64_t row = 0; row < out.rows; ++row) {
    if (rng.below(5) == 0) make_special(out, row, rng);
  }
}

Rows make_rows(std::int64_t rows, std::int64_t k, ElementFormat format, InputKind kind,
               std::uint64_t salt) {
  Rows out{rows, k, format, std::vector<std::uint8_t>(rows * k),
           std::vector<std::uint8_t>(rows * scale_row_bytes(k), kPoison)};
  Rng rng(salt);
  switch (kind) {
    case InputKind::normal:
      fill_normal(out, rng);
      break;
    case InputKind::coded:
      fill_coded(out, salt % 1021);
      break;
    case InputKind::extreme:
      fill_extreme(out, rng);
      break;
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t pad = out.groups(); pad < scale_row_bytes(k); ++pad) {
      out.scale(row, pad) = kPoison;
    }
  }
  return out;
}

}  // namespace

Operand::Operand(std::int64_t rows, std::int64_t k, ElementFormat format, InputKind kind,
                 bool as_columns, std::uint64_t salt)
    : rows_(rows),
      k_(k),
      as_columns_(as_columns),
      codes_(rows * k + 2 * kMargin, kPoison),
      scales_(rows * scale_row_bytes(k) + 2 * kMargin, kPoison) {
  Rows made = make_rows(rows, k, format, kind, salt);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < k; ++i) code(row, i) = made.code(row, i);
  }
  std::ranges::copy(made.scales, scales_.begin() + kMargin);
}

std::uint8_t& Operand::scale(std::int64_t row, std::int64_t group) {
  return scales_[kMargin + row * scale_row_bytes(k_) + group];
}

std::uint8_t& Operand::code(std::int64_t row, std::int64_t k) {
  return codes_[kMargin + (as_columns_ ? k * rows_ + row : row * k_ + k)];
}

Inputs::Inputs(const Problem& problem, InputKind kind, std::uint64_t seed) {
  const bool same_a = problem.op == OperatorKind::matmul_all_gather;
  const bool same_b = problem.op == OperatorKind::all_to_all_matmul;
  const bool same_bias = problem.op == OperatorKind::matmul_all_gather;
  const std::uint64_t base = seed * 1000;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    const Shapes held = shapes_of(problem, rank);
    if (rank == 0 || !same_a) {
      a_.emplace_back(held.a_rows, held.a_k, problem.dtype_a, kind, problem.trans_a,
                      base + 2 * rank);
    }
    if (rank == 0 || !same_b) {
      b_.emplace_back(held.b_columns, held.b_k, problem.dtype_b, kind, !problem.trans_b,
                      base + 2 * rank + 1);
    }
    if (!problem.bias) continue;
    // Where one rank alone adds it, the others' would be seen.
    Rng rng(base + 500 + (same_bias ? 0 : rank));
    std::vector<float> values(problem.n);
    for (float& value : values) value = rng.normal() * 4.0f;
    bias_.push_back(std::move(values));
  }
}

const float* Inputs::bias(int rank) const { return bias_.empty() ? nullptr : bias_[rank].data(); }

}  // namespace tandem::differential
