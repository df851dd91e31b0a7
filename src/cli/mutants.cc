// SPDX-License-Identifier: Apache-2.0
#include "cli/mutants.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "tandem/mutants.h"

namespace tandem::cli {

int selftest_mutants(int configurations, int generated_step) {
  ProgressLine progress;
  MutantOptions options;
  options.configurations = configurations;
  options.generated_step = generated_step;
  const MutantReport report =
      run_mutants(options, [&progress](const std::string& line) { progress.show(line); });
  progress.clear();
  fmt::print("{}", report.text);
  return report.passed() ? 0 : 1;
}

}  // namespace tandem::cli
