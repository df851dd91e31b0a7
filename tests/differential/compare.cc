// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/strings.h"
#include "mx/bf16.h"
#include "mx/fp16.h"
#include "plan/partition.h"
#include "tandem/operator.h"

namespace tandem::differential {
namespace {

std::uint32_t bits_at(OutputType type, std::span<const std::uint8_t> c, std::int64_t index) {
  if (type == OutputType::fp32) {
    std::uint32_t bits;
    std::memcpy(&bits, c.data() + index * 4, 4);
    return bits;
  }
  std::uint16_t bits;
  std::memcpy(&bits, c.data() + index * 2, 2);
  return bits;
}

float value_of(OutputType type, std::uint32_t bits) {
  switch (type) {
    case OutputType::bf16:
      return decode_bf16(static_cast<std::uint16_t>(bits));
    case OutputType::fp16:
      return decode_fp16(static_cast<std::uint16_t>(bits));
    case OutputType::fp32:
      break;
  }
  return std::bit_cast<float>(bits);
}

bool equal(OutputType type, std::uint32_t got, std::uint32_t want) {
  return got == want || (std::isnan(value_of(type, got)) && std::isnan(value_of(type, want)));
}

std::string printed(OutputType type, std::uint32_t bits) {
  char text[64];
  std::snprintf(text, sizeof text, "0x%0*x (%.9g)", type == OutputType::fp32 ? 8 : 4, bits,
                static_cast<double>(value_of(type, bits)));
  return text;
}

int part_with(std::int64_t total, int parts, std::int64_t index) {
  for (int part = 0; part < parts; ++part) {
    if (index < split_evenly(total, parts, part).end()) return part;
  }
  return parts;
}

// "from rank 2, round 1 of 3": whose data an element was made of, and in which round it came.
std::string source_of(const Origin& origin, std::int64_t row, std::int64_t column) {
  const Problem& problem = origin.one.problem;
  std::int64_t chunk_row = row;
  std::int64_t chunk_rows = problem.m;
  std::string source = "all ranks";
  switch (problem.op) {
    case OperatorKind::all_to_all_matmul:
      break;
    case OperatorKind::all_gather_matmul:
      source = cat("rank ", row / problem.m);
      chunk_row = row % problem.m;
      break;
    case OperatorKind::matmul_all_gather:
      source = cat("rank ", part_with(problem.n, problem.ranks, column));
      break;
    case OperatorKind::matmul_reduce_scatter:
      chunk_rows = split_evenly(problem.m, problem.ranks, 0).count;
      break;
  }
  return cat("from ", source, ", round ", part_with(chunk_rows, origin.rounds, chunk_row), " of ",
             origin.rounds);
}

struct Differences {
  std::int64_t count = 0;
  std::int64_t first = -1;

  void add(std::int64_t index) {
    if (count++ == 0) first = index;
  }
};

std::string report(const Origin& origin, const Differences& found, std::int64_t elements,
                   const std::string& values) {
  const Problem& problem = origin.one.problem;
  const std::int64_t row = found.first / problem.n;
  const std::int64_t column = found.first % problem.n;
  return cat(to_string(problem.op), " on rank ", origin.rank, ", launch ", origin.launch, ": ",
             found.count, " of ", elements, " elements differ; first (", row, ", ", column,
             "): ", values, ", ", source_of(origin, row, column), "; ", reproduce(origin.one));
}

double unit_of(OutputType type) {
  switch (type) {
    case OutputType::bf16:
      return 0x1p-8;
    case OutputType::fp16:
      return 0x1p-11;
    case OutputType::fp32:
      return 0x1p-24;
  }
  return 0;
}

double half_of_smallest(OutputType type) {
  switch (type) {
    case OutputType::bf16:
      return 0x1p-134;
    case OutputType::fp16:
      return 0x1p-25;
    case OutputType::fp32:
      return 0x1p-150;
  }
  return 0;
}

// Largest distance that rounding explains. The sum over ranks of reduce-scatter has R parts of k
// terms each.
double bound_at(const Problem& problem, const Reference& reference, std::int64_t index) {
  const bool scatters = problem.op == OperatorKind::matmul_reduce_scatter;
  const double unit = unit_of(problem.dtype_c);
  const double part_unit = scatters ? unit_of(problem.staging) : unit;
  const auto terms = static_cast<double>(scatters ? problem.ranks * (problem.k + 1) : problem.k);
  double distance = (terms + 2) * 0x1p-24 * reference.magnitude[index];
  if (!reference.rounded.empty()) distance += part_unit * reference.rounded[index];
  return unit * std::abs(reference.exact[index]) + (1 + unit) * distance +
         half_of_smallest(problem.dtype_c);
}

}  // namespace

Output::Output(const Problem& problem, int rank) : misalignment_(element_bytes(problem.dtype_c)) {
  const Shapes held = shapes_of(problem, rank);
  c_bytes_ = held.c_rows * held.c_columns * element_bytes(problem.dtype_c);
  bytes_.resize(c_bytes_ + misalignment_ + 2 * kCanaryBytes);
}

void Output::poison() { std::ranges::fill(bytes_, kPoison); }

std::span<const std::uint8_t> Output::view() const {
  return {bytes_.data() + kCanaryBytes + misalignment_, static_cast<std::size_t>(c_bytes_)};
}

bool Output::canaries_are_whole() const {
  const auto is_poison = [](std::uint8_t byte) { return byte == kPoison; };
  const std::span<const std::uint8_t> all(bytes_);
  return std::ranges::all_of(all.first(kCanaryBytes + misalignment_), is_poison) &&
         std::ranges::all_of(all.last(kCanaryBytes), is_poison);
}

std::string compare(const Origin& origin, std::span<const std::uint8_t> got,
                    std::span<const std::uint8_t> want) {
  const Problem& problem = origin.one.problem;
  const OutputType type = problem.dtype_c;
  if (got.size() != want.size()) {
    return cat(to_string(problem.op), " on rank ", origin.rank, ": C has ", got.size(),
               " bytes, the reference ", want.size(), "; ", reproduce(origin.one));
  }
  const auto elements = static_cast<std::int64_t>(got.size()) / element_bytes(type);
  Differences found;
  for (std::int64_t i = 0; i < elements; ++i) {
    if (!equal(type, bits_at(type, got, i), bits_at(type, want, i))) found.add(i);
  }
  if (found.count == 0) return "";
  return report(origin, found, elements,
                cat("got ", printed(type, bits_at(type, got, found.first)), ", want ",
                    printed(type, bits_at(type, want, found.first))));
}

std::string compare_with_bound(const Origin& origin, const Reference& reference,
                               std::span<const std::uint8_t> got) {
  const Problem& problem = origin.one.problem;
  const OutputType type = problem.dtype_c;
  const auto elements = static_cast<std::int64_t>(reference.exact.size());
  Differences found;
  for (std::int64_t i = 0; i < elements; ++i) {
    const double value = value_of(type, bits_at(type, got, i));
    const double distance = std::abs(value - reference.exact[i]);
    if (!(distance <= bound_at(problem, reference, i))) found.add(i);
  }
  if (found.count == 0) return "";
  return report(
      origin, found, elements,
      cat("got ", printed(type, bits_at(type, got, found.first)), ", exact ",
          reference.exact[found.first], ", bound ", bound_at(problem, reference, found.first)));
}

}  // namespace tandem::differential
