// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/findings.h"
#include "sim/machine.h"

namespace tandem::check {

// What is wrong with the buffers of a program before it runs: regions of a window that overlap.
void check_layout(const sim::Program& program, Findings& findings);

}  // namespace tandem::check
