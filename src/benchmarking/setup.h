// SPDX-License-Identifier: Apache-2.0
// A case that may be timed: planned before any rank exists.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cases/inputs.h"
#include "plan/plan.h"
#include "tandem/benchmarking.h"

namespace tandem {

inline constexpr int kBenchLaunchesMax = 2000;

struct BenchSetup {
  BenchOptions options;
  Problem problem;
  Plan plan;         // as asked
  Plan serial_plan;  // one round: no round's product beside another's transfer
  std::unique_ptr<OperandSource> source;
  std::vector<BenchArm> arms;      // in order of BenchArm
  bool baseline_is_asked = false;  // by name: then its library must be there
  std::vector<std::string> notes;  // why arms are left out

  bool has(BenchArm arm) const;
  bool sleeps() const { return options.compute == BenchCompute::sleep; }
};

// Throws Error{refused} with every reason.
std::unique_ptr<BenchSetup> make_bench_setup(const WorldOptions& world, const CaseOptions& asked,
                                             const BenchOptions& options);
// The plans of the arms. How many workers there are, and the links, is known when all have come.
void plan_for(BenchSetup& setup, const Device& device);
// What one rank's products are.
double flops_of_rank(const Plan& plan, int rank);

}  // namespace tandem
