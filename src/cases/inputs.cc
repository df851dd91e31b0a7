// SPDX-License-Identifier: Apache-2.0
#include "cases/inputs.h"

#include <algorithm>

#include "base/rng.h"
#include "cases/transposed.h"
#include "mx/formats.h"
#include "mx/quantise.h"

namespace tandem {
namespace {

enum class Stream : std::uint64_t { a = 1, b = 2, bias = 3 };

// One row of one operand of one rank.
struct RowName {
  Stream stream;
  int rank;
  std::int64_t row;
};

Rng row_rng(std::uint64_t seed, const RowName& name) {
  std::uint64_t state = seed;
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(name.stream), static_cast<std::uint64_t>(name.rank),
        static_cast<std::uint64_t>(name.row)}) {
    state = Rng(state + part * 0xD1342543DE82EF95u).next();
  }
  return Rng(state);
}

struct RowTarget {
  ElementFormat format;
  std::int64_t k;
  std::uint8_t* codes;
  std::uint8_t* scales;
};

void draw_normal(Rng rng, ScaleMode mode, const RowTarget& out) {
  std::vector<float> values(static_cast<std::size_t>(out.k));
  for (float& value : values) value = rng.normal();
  quantise_rows(values.data(), 1, out.k, out.k, out.format, mode, out.codes, out.k, out.scales,
                scale_row_bytes(out.k));
}

void draw_upstream(Rng rng, const RowTarget& out) {
  const FormatTraits& format = format_traits(out.format);
  for (std::int64_t k = 0; k < out.k; ++k) {
    const float value = 1.0f + 7.0f * rng.uniform();
    out.codes[k] = format.encode(value, Saturation::saturate);
  }
  std::fill_n(out.scales, scale_row_bytes(out.k), std::uint8_t{0});
  for (std::int64_t group = 0; group < ceil_div(out.k, kGroup); ++group) {
    out.scales[group] = static_cast<std::uint8_t>(127 + rng.below(2));
  }
}

// Element k is 1 to 8, exact in both formats: digit k mod 12 of (row, rank) in base 8, turned by
// the column. Any twelve neighbours spell their row. A product is at most 2^10 times the smallest
// one, so that sums of 2^14 products are exact in FP32. Neighbouring rows and groups have other
// scales.
void write_coded(const RowName& name, const RowTarget& out) {
  constexpr int kDigits = 12;  // ten for the row, two for the rank
  const FormatTraits& format = format_traits(out.format);
  std::uint8_t digits[kDigits];
  digits[0] = static_cast<std::uint8_t>(name.row % 8);
  digits[1] = static_cast<std::uint8_t>(name.rank % 8);
  digits[2] = static_cast<std::uint8_t>(name.rank / 8 % 8);
  std::int64_t rest = name.row / 8;
  for (int digit = 3; digit < kDigits; ++digit) {
    digits[digit] = static_cast<std::uint8_t>(rest % 8);
    rest /= 8;
  }
  for (std::int64_t k = 0; k < out.k; ++k) {
    const auto value = static_cast<float>(1 + (digits[k % kDigits] + k / kDigits) % 8);
    out.codes[k] = format.encode(value, Saturation::saturate);
  }
  std::fill_n(out.scales, scale_row_bytes(out.k), std::uint8_t{0});
  for (std::int64_t group = 0; group < ceil_div(out.k, kGroup); ++group) {
    out.scales[group] = static_cast<std::uint8_t>(126 + (name.rank + name.row + group) % 3);
  }
}

class Generator : public OperandSource {
 public:
  Generator(const Problem& problem, const InputOptions& options)
      : problem_(problem), options_(options) {}

  void fill_a(int rank, Slice rows, MxRows& out, std::int64_t at) const override {
    const bool same = problem_.op == OperatorKind::matmul_all_gather;
    fill(Stream::a, same ? 0 : rank, rows, problem_.dtype_a, out, at);
  }

  void fill_b(int rank, Slice columns, MxRows& out, std::int64_t at) const override {
    const bool same = problem_.op == OperatorKind::all_to_all_matmul;
    fill(Stream::b, same ? 0 : rank, columns, problem_.dtype_b, out, at);
  }

  // Ranks that share columns of C share their bias.
  std::vector<float> bias(int rank) const override {
    if (!problem_.bias) return {};
    const bool own = problem_.op == OperatorKind::all_gather_matmul;
    Rng rng = row_rng(options_.seed, {Stream::bias, own ? rank : 0, 0});
    std::vector<float> values(static_cast<std::size_t>(problem_.n));
    for (float& value : values) value = rng.normal();
    return values;
  }

 private:
  void fill(Stream stream, int rank, Slice rows, ElementFormat format, MxRows& out,
            std::int64_t at) const {
    const std::int64_t k = out.view().k;
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const RowName name{stream, rank, rows.first + i};
      const RowTarget target{format, k, out.codes(at + i), out.scales(at + i)};
      switch (options_.kind) {
        case InputKind::normal:
          draw_normal(row_rng(options_.seed, name), options_.scale_mode, target);
          break;
        case InputKind::coded:
          write_coded(name, target);
          break;
        case InputKind::upstream:
          draw_upstream(row_rng(options_.seed, name), target);
          break;
      }
    }
  }

  Problem problem_;
  InputOptions options_;
};

}  // namespace

MxRows::MxRows(ElementFormat format, std::int64_t rows, std::int64_t k)
    : format_(format),
      rows_(rows),
      k_(k),
      codes_(static_cast<std::size_t>(multiply({rows, k}))),
      scales_(static_cast<std::size_t>(multiply({rows, scale_row_bytes(k)}))) {}

MxMatrix MxRows::view() const {
  return {format_, rows_, k_, codes_.data(), k_, scales_.data(), scale_row_bytes(k_)};
}

std::unique_ptr<OperandSource> make_generator(const Problem& problem, const InputOptions& options) {
  return std::make_unique<Generator>(problem, options);
}

MxRows columns_of_b(const Problem& problem, const OperandSource& source, int rank) {
  const Shapes held = shapes_of(problem, rank);
  MxRows columns(problem.dtype_b, held.b_columns, held.b_k);
  source.fill_b(rank, {0, held.b_columns}, columns, 0);
  return columns;
}

Operands lay_out(const Problem& problem, const OperandSource& source, int rank) {
  const Shapes held = shapes_of(problem, rank);
  MxRows a(problem.dtype_a, held.a_rows, held.a_k);
  source.fill_a(rank, {0, held.a_rows}, a, 0);
  MxRows b = columns_of_b(problem, source, rank);
  Operands operands;
  operands.a_scales = a.take_scales();
  operands.b_scales = b.take_scales();
  operands.a_codes = a.take_codes();
  if (problem.trans_a)
    operands.a_codes = transposed(operands.a_codes.data(), held.a_rows, held.a_k);
  // Canonical B is [columns, k], what a user calls transposed.
  operands.b_codes = b.take_codes();
  if (!problem.trans_b)
    operands.b_codes = transposed(operands.b_codes.data(), held.b_columns, held.b_k);
  operands.bias = source.bias(rank);
  return operands;
}

Operands make_operands(const Problem& problem, const InputOptions& options, int rank) {
  return lay_out(problem, *make_generator(problem, options), rank);
}

}  // namespace tandem
