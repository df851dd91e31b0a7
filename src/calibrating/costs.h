// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "calibrating/probes.h"
#include "report/device_json.h"

namespace tandem {

// The host device with what was measured in place of its costs, and where each comes from.
DeviceFile measured_device(const Measured& measured, int processors);

// One line for each cost that was measured.
std::string costs_text(const DeviceFile& file);

}  // namespace tandem
