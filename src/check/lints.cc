// SPDX-License-Identifier: Apache-2.0
#include "check/lints.h"

#include <algorithm>

#include "base/strings.h"

namespace tandem::check {
namespace {

constexpr std::string_view kSingleCore = "PERF-SINGLE-CORE";
constexpr std::string_view kRowwise = "PERF-ROWWISE";
constexpr std::string_view kScalar = "PERF-SCALAR";
constexpr std::string_view kAccumulation = "PREC-BF16-ACC";
constexpr std::string_view kUnheard = "WORD-UNHEARD";

constexpr LintHelp kLints[] = {
    {kSingleCore, "one vector core reduces for the whole rank; give it more blocks"},
    {kRowwise, "the reduction synchronises for each row where several fit; reduce in batches"},
    {kScalar, "a product for each rank and tile builds its parameters each time; use fragments"},
    {kAccumulation,
     "C is rounded, then added to in its own type; use fp32 or another local matmul"},
    {kUnheard, "a barrier word is stored into and nobody waits for it; wait, or do not store"},
};

std::int64_t rows_of_largest_round(const Plan& plan) {
  std::int64_t rows = 0;
  for (const Slice& slice : plan.slices) rows = std::max(rows, slice.count);
  return rows;
}

}  // namespace

std::span<const LintHelp> all_lints() { return kLints; }

std::vector<std::string> lints_of_plan(const Plan& plan) {
  std::vector<std::string> lints;
  const Problem& problem = plan.problem;
  if (problem.op == OperatorKind::matmul_reduce_scatter) {
    const ReductionPlan& reduction = plan.reduction;
    const std::int64_t rows = rows_of_largest_round(plan);
    if (reduction.cores == 1 && rows > 1) {
      lints.push_back(cat(kSingleCore, ": 1 of ", plan.blocks, " vector cores reduces ", rows,
                          " rows a round"));
    }
    const bool by_rows =
        problem.reduction == ReductionForm::rows || problem.ub == UbManagement::pipe;
    if (by_rows && rows > reduction.cores) {
      lints.push_back(cat(kRowwise, ": ", rows, " rows a round, one in each pass"));
    }
  }
  if (problem.product == ProductForm::subcalls && plan.ranks > 1) {
    lints.push_back(cat(kScalar, ": ", plan.ranks, " products a tile instead of one"));
  }
  const bool adds_to_c = problem.op == OperatorKind::all_to_all_matmul && problem.local_matmul == 1;
  if (adds_to_c && plan.ranks > 1 && problem.dtype_c != OutputType::fp32) {
    lints.push_back(cat(kAccumulation, ": the part of the peers is added to C of type ",
                        to_string(problem.dtype_c)));
  }
  return lints;
}

void UnheardWords::epoch_arrives(int rank, EpochSlot slot, std::uint64_t, const sim::Token&) {
  heard_.try_emplace(Word{rank, slot.kind, slot.index}, false);
}

void UnheardWords::take_epoch(sim::SimCore& core, EpochSlot slot, std::uint64_t, Site) {
  heard_[Word{core.rank, slot.kind, slot.index}] = true;
}

std::vector<std::string> UnheardWords::lints() const {
  std::vector<std::string> lints;
  int more = 0;
  for (const auto& [word, heard] : heard_) {
    if (heard) continue;
    const auto& [rank, kind, index] = word;
    if (!lints.empty()) {
      ++more;
      continue;
    }
    const bool peer = kind == EpochSlot::Kind::arrived;
    lints.push_back(cat(kUnheard, ": rank ", rank, "'s word of ", peer ? "peer " : "job ", index));
  }
  if (more > 0) lints[0] += cat(" and ", more, more == 1 ? " other" : " others");
  return lints;
}

}  // namespace tandem::check
