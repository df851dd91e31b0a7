// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "host/host_core.h"
#include "machine/core.h"

namespace tandem::host {

class LaunchSite;

// The channels of one vector core to all peers, null for the own rank: loads and stores where the
// peer's memory is mapped, operations of the rank's link elsewhere.
std::vector<std::unique_ptr<Channel>> make_host_channels(LaunchSite& site, CoreState& core);
// Null where memory is mapped.
std::vector<std::unique_ptr<Channel>> make_link_channels(LaunchSite& site, CoreState& core);

}  // namespace tandem::host
