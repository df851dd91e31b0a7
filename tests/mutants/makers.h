// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/mutants/mutant_run.h"
#include "launches.h"
#include "ops/registry.h"
#include "report/device_json.h"

namespace tandem::check {

inline Makers test_makers() {
  return {.plan = make_plan, .launch = make_launch, .device = load_device};
}

}  // namespace tandem::check
