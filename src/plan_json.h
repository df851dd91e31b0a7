// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plan/plan.h"

namespace tandem {

// Every number of a plan as JSON, keys in a fixed order. Of a grid's tiles it tells how many each
// core has; the tiles themselves follow from the grid and the tiling.
std::string plan_to_json(const Plan& plan);

}  // namespace tandem
