// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::cli {

// `tandem selftest --mutants`: the checker against known errors and correct programs. Returns the
// exit code.
int selftest_mutants(int configurations, int generated_step);

}  // namespace tandem::cli
