// SPDX-License-Identifier: Apache-2.0
#include "cases/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "mx/output.h"
#include "ops/registry.h"

namespace tandem {
namespace {

constexpr std::int64_t kStepElementsMax = std::int64_t{1} << 20;  // of C: 28 MiB with FP64 sums

// docs/numerics.md, section 9.
struct TypeFacts {
  int precision;      // bits of a significand
  int exponent_tiny;  // of half the smallest subnormal

  double unit() const { return std::ldexp(1.0, -precision); }
  double tiny() const { return std::ldexp(1.0, exponent_tiny); }
  // Distance between neighbours at `value`.
  double ulp(double value) const {
    const int exponent = value == 0 ? exponent_tiny : std::ilogb(value) + 1 - precision;
    return std::ldexp(1.0, std::max(exponent, exponent_tiny + 1));
  }
};

TypeFacts facts_of(OutputType type) {
  switch (type) {
    case OutputType::bf16:
      return {8, -134};
    case OutputType::fp16:
      return {11, -25};
    case OutputType::fp32:
      break;
  }
  return {24, -150};
}

// The bound on |out − exact| for one operator.
class Bound {
 public:
  explicit Bound(const Problem& problem) : out_(facts_of(problem.dtype_c)), stored_(out_) {
    const bool scatter = problem.op == OperatorKind::matmul_reduce_scatter;
    // The sum over ranks adds R − 1 roundings in FP32 to those of a product.
    additions_ = static_cast<double>(problem.k + 2 + (scatter ? problem.ranks - 1 : 0));
    if (scatter) {
      stored_ = facts_of(problem.staging);
      stores_ = problem.ranks;
    } else if (problem.local_matmul == 1) {
      stores_ = 2;
    }
  }

  double at(double exact, double magnitude, double rounded) const {
    // Each addition in FP32 may also round a subnormal.
    return out_.unit() * std::abs(exact) + additions_ * (0x1p-24 * magnitude + 0x1p-150) +
           out_.tiny() + stored_.unit() * rounded + stores_ * stored_.tiny();
  }

 private:
  TypeFacts out_;
  TypeFacts stored_;  // of parts that are rounded before the last sum
  double additions_;
  double stores_ = 0;
};

std::uint32_t load_bits(const std::uint8_t* cell, std::int64_t bytes) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, cell, static_cast<std::size_t>(bytes));
  return bits;
}

// Payloads of NaN don't count, but a NaN that is still the poison was never written.
bool is_equal(OutputType type, const std::uint8_t* got, const std::uint8_t* want) {
  const std::int64_t bytes = element_bytes(type);
  if (std::memcmp(got, want, static_cast<std::size_t>(bytes)) == 0) return true;
  if (!std::isnan(widen(type, got)) || !std::isnan(widen(type, want))) return false;
  return !std::all_of(got, got + bytes, [](std::uint8_t b) { return b == Verifier::kPoison; });
}

bool is_scatter(const Plan& plan) { return plan.problem.op == OperatorKind::matmul_reduce_scatter; }

// Ranks whose rows stand one above the other in C.
int stacked_ranks(const Plan& plan) {
  return plan.problem.op == OperatorKind::all_gather_matmul ? plan.ranks : 1;
}

// Products per row of a rank's chunk.
std::int64_t row_work(const Plan& plan) {
  const std::int64_t products = is_scatter(plan) ? plan.ranks : stacked_ranks(plan);
  return std::max<std::int64_t>(1, products * plan.problem.n * plan.problem.k);
}

// Rows that a rank's chunk has on the rank with the most of them.
std::int64_t chunk_rows_max(const Plan& plan) {
  return is_scatter(plan) ? plan.rows_of(0).count : plan.problem.m;
}

}  // namespace

Verifier::Verifier(const Plan& plan, const OperandSource& source, int rank,
                   const VerifyOptions& options)
    : plan_(plan),
      source_(source),
      rank_(rank),
      row_bytes_(plan.problem.n * element_bytes(plan.problem.dtype_c)) {
  const Problem& problem = plan.problem;
  const std::int64_t work = row_work(plan);
  const std::int64_t elements = std::max<std::int64_t>(1, stacked_ranks(plan) * problem.n);
  step_rows_ = std::max<std::int64_t>(
      1, std::min(options.step_work_max / work, kStepElementsMax / elements));
  const std::int64_t extent = problem.n == 0 ? 0 : chunk_rows_max(plan);
  steps_ = ceil_div(extent, step_rows_);
  exact_stride_ = std::max<std::int64_t>(
      1, ceil_div(extent, std::max<std::int64_t>(1, options.exact_work_max / work)));

  for (int peer = 0; peer < plan.ranks; ++peer) {
    // Other ranks' B counts where their products arrive here.
    const bool needed =
        peer == rank || is_scatter(plan) || problem.op == OperatorKind::matmul_all_gather;
    columns_.push_back(needed ? columns_of_b(problem, source, peer)
                              : MxRows(problem.dtype_b, 0, problem.k));
    biases_.push_back(source.bias(peer));
  }
  found_.rows = plan.c_rows(rank);
  found_.elements = found_.rows * problem.n;
  if (problem.n == 0) found_.exact_rows = found_.rows;  // nothing to compare
}

Slice Verifier::rows_of_step(std::int64_t step) const {
  const std::int64_t rows = is_scatter(plan_) ? plan_.rows_of(rank_).count : plan_.problem.m;
  const std::int64_t first = std::min(rows, step * step_rows_);
  return {first, std::min(step_rows_, rows - first)};
}

Reference Verifier::make_reference(Slice rows, bool wants_exact) const {
  // The same problem with fewer rows, and the order of sums of the whole one.
  Plan part;
  part.problem = plan_.problem;
  part.problem.m = is_scatter(plan_) ? plan_.ranks * rows.count : rows.count;
  part.ranks = plan_.ranks;
  part.order = plan_.order;
  const bool by_blocks = is_scatter(plan_) || plan_.problem.op == OperatorKind::all_to_all_matmul;
  std::vector<MxRows> a;
  std::vector<RankOperands> operands;
  a.reserve(plan_.ranks);
  for (int source = 0; source < plan_.ranks; ++source) {
    a.emplace_back(plan_.problem.dtype_a, part.a_rows(source), plan_.k_of(source).count);
    if (by_blocks) {
      // Only the rows that come to this rank are filled; nothing reads the others.
      const Slice from{plan_.rows_of(rank_).first + rows.first, rows.count};
      source_.fill_a(source, from, a.back(), part.rows_of(rank_).first);
    } else {
      source_.fill_a(source, rows, a.back(), 0);
    }
    const std::vector<float>& bias = biases_[source];
    operands.push_back({.a = a.back().view(),
                        .b = columns_[source].view(),
                        .bias = bias.empty() ? nullptr : bias.data()});
  }
  Reference reference;
  reference.wants_exact = wants_exact;
  find_operator(plan_.problem.op).reference(part, operands, rank_, reference);
  return reference;
}

void Verifier::run_step(std::int64_t step, std::span<const LaunchResult> results) {
  const Slice rows = rows_of_step(step);
  if (rows.count == 0) return;
  const bool wants_exact = step % exact_stride_ == 0;
  const Reference want = make_reference(rows, wants_exact);
  const int stacked = stacked_ranks(plan_);
  for (int source = 0; source < stacked; ++source) {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const std::int64_t row = source * plan_.problem.m + rows.first + i;
      const std::int64_t want_row = source * rows.count + i;
      for (const LaunchResult& result : results) {
        compare_row(want.c.data() + want_row * row_bytes_, row, result);
        if (wants_exact) measure_row(want, want_row, row, result);
      }
    }
  }
  if (wants_exact) found_.exact_rows += stacked * rows.count;
}

void Verifier::compare_row(const std::uint8_t* want, std::int64_t row, const LaunchResult& result) {
  const std::uint8_t* got = result.c.data() + row * row_bytes_;
  if (std::memcmp(got, want, static_cast<std::size_t>(row_bytes_)) == 0) return;
  const OutputType type = plan_.problem.dtype_c;
  const std::int64_t bytes = element_bytes(type);
  for (std::int64_t column = 0; column < plan_.problem.n; ++column) {
    const std::int64_t at = column * bytes;
    if (is_equal(type, got + at, want + at)) continue;
    ++found_.differing;
    const std::int64_t index = row * plan_.problem.n + column;
    if (found_.first && found_.first->index <= index) continue;
    found_.first = describe(row, column);
    found_.first->got = load_bits(got + at, bytes);
    found_.first->want = load_bits(want + at, bytes);
    found_.first->launch = result.launch;
  }
}

void Verifier::measure_row(const Reference& want, std::int64_t want_row, std::int64_t row,
                           const LaunchResult& result) {
  const OutputType type = plan_.problem.dtype_c;
  const TypeFacts facts = facts_of(type);
  const Bound bound(plan_.problem);
  const std::uint8_t* got = result.c.data() + row * row_bytes_;
  for (std::int64_t column = 0; column < plan_.problem.n; ++column) {
    const std::int64_t at = want_row * plan_.problem.n + column;
    const double out = widen(type, got + column * element_bytes(type));
    const double exact = want.exact[at];
    const double rounded = want.rounded.empty() ? 0.0 : want.rounded[at];
    if (!std::isfinite(out) || !std::isfinite(exact) || !std::isfinite(want.magnitude[at]))
      continue;
    const double error = std::abs(out - exact);
    found_.ulp_max = std::max(found_.ulp_max, error / facts.ulp(exact));
    found_.bound_ratio =
        std::max(found_.bound_ratio, error / bound.at(exact, want.magnitude[at], rounded));
  }
}

Difference Verifier::describe(std::int64_t row, std::int64_t column) const {
  Difference found{
      .rank = rank_, .index = row * plan_.problem.n + column, .row = row, .column = column};
  std::int64_t chunk_row = row;
  if (plan_.problem.op == OperatorKind::all_gather_matmul) {
    found.source_rank = static_cast<int>(row / plan_.problem.m);
    chunk_row = row % plan_.problem.m;
    if (found.source_rank == rank_) return found;  // own rows wait for nobody
  } else if (plan_.problem.op == OperatorKind::matmul_all_gather) {
    for (int owner = 0; owner < plan_.ranks; ++owner) {
      if (plan_.columns_of(owner).first <= column) found.source_rank = owner;
    }
    if (found.source_rank == rank_) return found;
  }
  for (int round = 0; round < plan_.rounds(); ++round) {
    if (plan_.slices[round].first <= chunk_row) found.round = round;
  }
  return found;
}

Verification verify(const Plan& plan, const OperandSource& source, int rank,
                    std::span<const LaunchResult> results, const VerifyOptions& options) {
  Verifier verifier(plan, source, rank, options);
  for (std::int64_t step = 0; step < verifier.steps(); ++step) verifier.run_step(step, results);
  return verifier.verification();
}

}  // namespace tandem
