// SPDX-License-Identifier: Apache-2.0
// One half of a launch: kernels run as they are, but the cores of the other half do no work. They
// still give each other flags, so that the order of what remains is the plan's.
#pragma once

#include "machine/launch.h"

namespace tandem {

// The products alone: vector cores move and reduce nothing, and don't wait for peers.
Launch products_of(Launch launch);
// Transfers, barriers and the reduction alone.
Launch transfers_of(Launch launch);

}  // namespace tandem
