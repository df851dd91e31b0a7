// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::sim {

// Entity numbers of a core: the scalar stream, then its pipes.
inline constexpr int kLaneSlots = 8;

}  // namespace tandem::sim
