// SPDX-License-Identifier: Apache-2.0
// What is legal and yet suspicious, or slow or inexact by design. Lints stand beside a verdict and
// do not change it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "plan/plan.h"
#include "sim/machine.h"
#include "sim/observer.h"

namespace tandem::check {

struct LintHelp {
  std::string_view code;  // "PERF-ROWWISE"
  std::string_view meaning;
};
std::span<const LintHelp> all_lints();

// "PERF-ROWWISE: …", in the order of all_lints().
std::vector<std::string> lints_of_plan(const Plan& plan);

// Barrier words that somebody stores into and nobody waits for.
class UnheardWords final : public sim::Observer {
 public:
  void epoch_arrives(int rank, EpochSlot slot, std::uint64_t value,
                     const sim::Token& token) override;
  void take_epoch(sim::SimCore& core, EpochSlot slot, std::uint64_t value, Site site) override;
  std::vector<std::string> lints() const;

 private:
  using Word = std::tuple<int, EpochSlot::Kind, int>;  // rank, kind, index
  std::map<Word, bool> heard_;
};

}  // namespace tandem::check
