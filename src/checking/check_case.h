// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "check/mutants/mutant_run.h"
#include "check/run.h"
#include "checking/check_data.h"
#include "plan/plan.h"
#include "sim/machine.h"
#include "tandem/checking.h"

namespace tandem {

// One configuration, ready to run under any schedule.
class CheckCase {
 public:
  // Throws Error{refused} with every reason.
  explicit CheckCase(const CheckOptions& options);
  CheckCase(const CheckCase&) = delete;
  CheckCase& operator=(const CheckCase&) = delete;

  const Plan& plan() const { return built_.plan(0); }
  const sim::Program& program() const { return built_.program; }
  // Wrong elements of the last run.
  const check::Findings& wrong_values() const { return wrong_values_; }
  check::RunReport run(sim::Schedule* schedule, check::HappensBefore::Hash hash,
                       const std::vector<sim::Observer*>& more);

 private:
  check::BuiltProgram built_;
  std::optional<CheckValues> values_;
  check::Findings wrong_values_;  // of the run
};

}  // namespace tandem
