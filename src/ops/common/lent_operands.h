// SPDX-License-Identifier: Apache-2.0
// The exchange of an operator whose peers read A where it lies (--transfer direct): one round, no
// transfer. Whoever runs the launch has written A into the window before; it may do so again when
// the launch has ended.
#pragma once

#include "comm/team_barrier.h"
#include "machine/core.h"
#include "plan/plan.h"

namespace tandem {

// A vector core's part: sets the round's ready flag once A of all ranks is there, and returns when
// all ranks have read.
void lend_operands(VectorCore& core, const Plan& plan, TeamBarrier& barrier);

// A cube core's part, behind its last load of A.
void return_operands(CubeCore& core, const Plan& plan);

}  // namespace tandem
