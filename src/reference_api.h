// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ops/operator.h"
#include "tandem/operator.h"

namespace tandem {

// One rank's operands as the references want them, brought there from the problem's layout.
class CanonicalOperands {
 public:
  CanonicalOperands(const Problem& problem, int rank, const MxOperand& a, const MxOperand& b,
                    const float* bias);
  CanonicalOperands(CanonicalOperands&&) noexcept = default;
  CanonicalOperands(const CanonicalOperands&) = delete;

  RankOperands view;

 private:
  std::vector<std::uint8_t> a_;
  std::vector<std::uint8_t> b_;
};

}  // namespace tandem
