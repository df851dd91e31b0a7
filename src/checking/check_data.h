// SPDX-License-Identifier: Apache-2.0
// The data of a check in value mode: other operands in each launch, the reference's results, and
// memory that is poisoned before each launch. Made once, used by all runs of a case.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cases/inputs.h"
#include "check/findings.h"
#include "check/mutants/mutant_run.h"
#include "gemm/tile_product.h"
#include "plan/plan.h"
#include "sim/machine.h"

namespace tandem {

class CheckValues {
 public:
  CheckValues(const Plan& plan, int launches, std::uint64_t seed);

  // Lets the program run with these values; both must outlive its runs. Before a launch of a rank
  // its inputs are filled in, and everything that the launch has to write is poisoned; after it
  // there is a finding more if C is not the reference's, to the bit.
  void attach(sim::Program& program, check::Findings& findings) const;

 private:
  void fill(sim::Machine& machine, int rank, int launch) const;
  void compare(sim::Machine& machine, int rank, int launch, check::Findings& findings) const;

  struct LaunchData {
    std::vector<MxRows> a;  // by rank
    std::vector<std::vector<float>> bias;
    std::vector<std::vector<std::uint8_t>> c;  // what the reference says
  };

  const Plan& plan_;
  std::vector<gemm::PackedWeights> weights_;
  std::vector<LaunchData> launches_;
};

// Runs a program that accesses nothing but what it may, in the canonical order, and returns what is
// wrong with C.
std::vector<Finding> find_wrong_values(check::BuiltProgram built);

}  // namespace tandem
