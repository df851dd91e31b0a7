// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/mutants/mutant_run.h"
#include "checking/check_data.h"
#include "launches.h"
#include "ops/registry.h"
#include "report/device_json.h"

namespace tandem::check {

inline Makers test_makers() {
  return {.plan = make_plan,
          .launch = make_launch,
          .device = load_device,
          .wrong_values = find_wrong_values};
}

}  // namespace tandem::check
