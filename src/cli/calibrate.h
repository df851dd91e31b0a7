// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tandem::cli {

struct CalibrateArguments {
  bool measures = false;
  bool fits = false;
  std::string out;              // of the device file that was measured; empty: none
  std::string device = "host";  // to predict with, where nothing is measured
  int launches = 15;
};

// Measures this machine, compares predictions with runs, or both. Returns the exit code.
int selftest_calibrate(const CalibrateArguments& wanted);

}  // namespace tandem::cli
