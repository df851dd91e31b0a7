// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/launch.h"
#include "plan/plan.h"

namespace tandem {

// What a machine is told to run a plan's operator on `rank`. Keeps a pointer to the plan.
Launch make_launch(const Plan& plan, int rank);

}  // namespace tandem
