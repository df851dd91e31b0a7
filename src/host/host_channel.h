// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "machine/core.h"

namespace tandem::host {

class LaunchSite;

// Transfers by load and store: the peer's window is mapped, the vector fibre copies, and nothing
// is in flight when a call returns.
std::unique_ptr<Channel> make_host_channel(LaunchSite& site, int peer);

}  // namespace tandem::host
