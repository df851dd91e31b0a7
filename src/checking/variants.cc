// SPDX-License-Identifier: Apache-2.0
#include "checking/variants.h"

#include <algorithm>

#include "base/strings.h"
#include "check/mutants/mutants.h"
#include "tandem/checking.h"
#include "tandem/error.h"

namespace tandem {
namespace {

bool any(OperatorKind) { return true; }
bool scatters(OperatorKind op) { return op == OperatorKind::matmul_reduce_scatter; }
bool gathers_rows(OperatorKind op) { return op == OperatorKind::all_gather_matmul; }
bool has_ring(OperatorKind op) {
  return op == OperatorKind::all_gather_matmul || op == OperatorKind::matmul_all_gather;
}
bool all_to_all(OperatorKind op) { return op == OperatorKind::all_to_all_matmul; }
bool can_lend(OperatorKind op) { return op != OperatorKind::matmul_all_gather; }
bool has_subcalls(OperatorKind op) { return scatters(op) || gathers_rows(op); }

constexpr Variant kVariants[] = {
    {"flags-by-round", "a flag id per round instead of one that counts",
     [](Problem& p) { p.flags = FlagNumbering::round; }, any},
    {"single-slot-barrier", "one arrival word for all jobs of a peer: wrong by design",
     [](Problem& p) { p.barrier = BarrierLayout::single_slot; }, any},
    {"own-part-first", "own rows are multiplied before the transfer is waited for",
     [](Problem& p) { p.local_matmul = 1; }, all_to_all},
    {"deferred-wait", "the wait for the peers' rows is put off",
     [](Problem& p) { p.local_matmul = 2; }, all_to_all},
    {"one-slot", "a ring of one slot", [](Problem& p) { p.slots = 1; }, has_ring},
    {"two-slots", "a ring of two slots", [](Problem& p) { p.slots = 2; }, has_ring},
    {"subcalls", "a product for each rank instead of one over all fragments",
     [](Problem& p) { p.product = ProductForm::subcalls; }, has_subcalls},
    {"shared-cores", "vector cores communicate and reduce by turns",
     [](Problem& p) { p.cores = CoreMapping::shared; }, scatters},
    {"first-job-fences", "job 0 alone fences across ranks",
     [](Problem& p) { p.fence = FenceJobs::first; }, scatters},
    {"reduction-by-rows", "the reduction takes one row at a time",
     [](Problem& p) { p.reduction = ReductionForm::rows; }, scatters},
    {"ub-queues", "the unified buffer is managed by queues",
     [](Problem& p) { p.ub = UbManagement::pipe; }, scatters},
    {"single-strided", "long rows are copied one by one",
     [](Problem& p) { p.strided = StridedCopy::single; }, scatters},
    {"direct-transfer", "peers read rows where they lie, nothing is copied",
     [](Problem& p) { p.transfer = Transfer::direct; }, can_lend},
};

}  // namespace

std::span<const Variant> all_variants() { return kVariants; }

bool is_upstream_error(std::string_view name) { return name.starts_with("upstream:"); }

std::string refusal_of_variant(OperatorKind op, std::string_view name) {
  if (name.empty()) return "";
  const auto other = [&] {
    return cat("variant ", name, ": ", to_string(op),
               " has no such form; see 'tandem list variants'");
  };
  if (is_upstream_error(name)) {
    const check::Mutant* mutant = check::find_mutant(name);
    if (mutant != nullptr) return mutant->config.problem.op == op ? "" : other();
  }
  for (const Variant& variant : kVariants) {
    if (variant.name == name) return variant.applies(op) ? "" : other();
  }
  return cat("variant '", name, "' is unknown; see 'tandem list variants'");
}

Problem with_variant(const Problem& problem, std::string_view name) {
  const std::string refusal = refusal_of_variant(problem.op, name);
  if (!refusal.empty()) throw Error(ErrorKind::refused, refusal);
  Problem changed = problem;
  const auto found = std::ranges::find(kVariants, name, &Variant::name);
  if (found != std::end(kVariants)) found->apply(changed);
  return changed;
}

std::string list_variants() {
  std::string text;
  const auto add = [&text](std::string_view name, const std::string& summary) {
    std::string line(name);
    line.resize(std::max<std::size_t>(22, line.size() + 2), ' ');
    text += line + summary + "\n";
  };
  for (const Variant& variant : kVariants) add(variant.name, std::string(variant.summary));
  for (const check::UpstreamError& error : check::upstream_errors()) {
    const OperatorKind op = check::find_mutant(error.name)->config.problem.op;
    add(error.name, cat(error.title, ": an error of the original design, in ", to_string(op)));
  }
  return text;
}

}  // namespace tandem
