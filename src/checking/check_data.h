// SPDX-License-Identifier: Apache-2.0
// The data of a check in value mode: other operands in each launch, the reference's results, and
// memory that is poisoned before each launch. Made once, used by all runs of a case.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cases/inputs.h"
#include "check/findings.h"
#include "gemm/tile_product.h"
#include "plan/plan.h"
#include "sim/machine.h"

namespace tandem {

class CheckValues {
 public:
  CheckValues(const Plan& plan, int launches, std::uint64_t seed);

  const gemm::PackedWeights& weights(int rank) const { return weights_[rank]; }
  // Before a launch of a rank: its inputs; everything that the launch has to write is poisoned.
  void fill(sim::Machine& machine, int rank, int launch) const;
  // After it: adds a finding if C is not the reference's, to the bit.
  void compare(sim::Machine& machine, int rank, int launch, check::Findings& findings) const;

 private:
  struct LaunchData {
    std::vector<MxRows> a;  // by rank
    std::vector<std::vector<float>> bias;
    std::vector<std::vector<std::uint8_t>> c;  // what the reference says
  };

  const Plan& plan_;
  std::vector<gemm::PackedWeights> weights_;
  std::vector<LaunchData> launches_;
};

}  // namespace tandem
