// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine.h"

namespace tandem::sim {

// Notes that `op` touches a view. Outside its buffer that is a finding, and the operation has no
// effect.
void add_view(Machine& machine, Op& op, const View& view, AccessKind kind);
// The same for a tensor of the core's UB.
void add_tensor(Machine& machine, Op& op, const UbTensor& tensor, AccessKind kind);
// The first `bytes` of a local memory.
void add_local(Op& op, Object object, AccessKind kind, std::int64_t bytes);

}  // namespace tandem::sim
