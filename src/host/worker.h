// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/launch_site.h"

namespace tandem::host {

// Runs the cores of one worker until all have ended: vector fibres first, so that communication
// starts early; a product that paused goes on before other products. Sleeps when all of them wait.
void run_worker(LaunchSite& site, int worker);

}  // namespace tandem::host
