// SPDX-License-Identifier: Apache-2.0
// One element of C or of staging, docs/numerics.md section 7.
#pragma once

#include "tandem/types.h"

namespace tandem {

// Rounds a value to `type` and stores it at `destination`, which needs no alignment.
void round_to(OutputType type, float value, void* destination);

// The FP32 value of the element of `type` at `source`, exact.
float widen(OutputType type, const void* source);

}  // namespace tandem
