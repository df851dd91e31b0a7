// SPDX-License-Identifier: Apache-2.0
#include "cli/calibrate.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "tandem/calibrating.h"
#include "tandem/case.h"

namespace tandem::cli {

int selftest_calibrate(const CalibrateArguments& wanted) {
  ProgressLine progress;
  const auto show = [&progress](const std::string& line) { progress.show(line); };
  FitOptions options{.device = wanted.device, .device_json = {}, .launches = wanted.launches};
  if (wanted.measures) {
    const CalibrateReport report = calibrate(show);
    progress.clear();
    fmt::print("{}", report.text);
    if (!wanted.out.empty()) write_text_file(wanted.out, report.device_json);
    options.device = wanted.out.empty() ? "as measured" : wanted.out;
    options.device_json = report.device_json;
  }
  if (wanted.fits) {
    const FitReport report = fit(options, show);
    progress.clear();
    fmt::print("{}", report.text);
  }
  return 0;
}

}  // namespace tandem::cli
