// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "check/replay.h"

namespace tandem::check {

// Leaves out deviations as long as `fails` holds: Zeller's ddmin, at most `runs_max` calls. What is
// returned fails, if `deviations` did.
std::vector<Deviation> shrink_deviations(
    std::vector<Deviation> deviations,
    const std::function<bool(const std::vector<Deviation>&)>& fails, int runs_max);

}  // namespace tandem::check
