// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/finding.h"
#include "check/waits/wait_survey.h"

namespace tandem::check {

// The deadlock finding: roots, cycles, then what stands behind them; waits that differ only in rank
// and block are told once.
Finding report_waits(const std::vector<Wait>& waits, sim::Machine& machine);

}  // namespace tandem::check
