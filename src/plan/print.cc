// SPDX-License-Identifier: Apache-2.0
#include "plan/print.h"

#include "base/strings.h"

namespace tandem {

std::string print_plan(const Plan& plan) {
  return cat(to_string(plan.problem.op), " rounds ", plan.rounds(), " blocks ", plan.blocks);
}

}  // namespace tandem
