// SPDX-License-Identifier: Apache-2.0
// What this machine costs, for predictions of operators that run on it: micro-kernels measure the
// host device's costs, and whole operators show how far the predictions are off.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tandem/problem.h"

namespace tandem {

// What a long run is doing, for people.
using CalibrateProgress = std::function<void(const std::string& line)>;

struct CalibrateReport {
  std::string text;         // each cost with what it was measured from
  std::string device_json;  // a device file: the host device with these costs
};

// Runs kernels of a few hundred microseconds on all processors, some ten seconds in all. Throws
// Error{environment} if a world cannot be made. Other work on the machine makes the costs larger.
CalibrateReport calibrate(const CalibrateProgress& progress = {});

struct FitOptions {
  std::string device = "host";  // a built-in device with shared workers, or a device file
  std::string device_json;      // the device file's text, if it is in no file
  int launches = 15;            // of each problem
};

// One operator that was run and predicted; seconds.
struct FitPoint {
  Problem problem;
  double measured = 0;  // median of the launches, largest rank
  double fastest = 0;   // of the launches
  double predicted = 0;
  double error() const { return predicted / measured - 1; }
};

struct FitReport {
  std::vector<FitPoint> points;
  double median_error = 0;  // of the absolute relative errors
  double worst_error = 0;
  std::string text;  // a table, the figures last
};

// Runs the operators on this machine, launches of different problems in turn, and compares with the
// predictions. None of the problems is used by calibrate(). Throws Error{refused} for a device
// without shared workers and what World::spawn throws.
FitReport fit(const FitOptions& options = {}, const CalibrateProgress& progress = {});

}  // namespace tandem
