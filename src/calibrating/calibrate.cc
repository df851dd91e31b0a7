// SPDX-License-Identifier: Apache-2.0
#include "calibrating/costs.h"
#include "tandem/calibrating.h"
#include "tandem/world.h"

namespace tandem {

CalibrateReport calibrate(const CalibrateProgress& progress) {
  const int processors = default_workers(1);
  const Measured measured = run_probes(processors, progress);
  const DeviceFile file = measured_device(measured, processors);
  CalibrateReport report;
  report.text = costs_text(file);
  report.device_json = print_device_file(file);
  return report;
}

}  // namespace tandem
