// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tandem/checking.h"

namespace tandem {

// Makes ranks, rounds, blocks, extents and launches smaller as long as `fails` holds, at most
// `runs_max` calls of it.
CheckOptions shrink_options(CheckOptions options,
                            const std::function<bool(const CheckOptions&)>& fails, int runs_max);

}  // namespace tandem
