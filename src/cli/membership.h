// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/request.h"

namespace tandem::cli {

// --rank, --size, --root, --job: this process as one rank of a world that is started elsewhere.
void add_membership_options(CLI::App& app, Request& request);
// Takes them, or what the environment says, into the request's world. Then R is the size unless it
// was given, and the transport one that reaches other hosts.
void take_membership(const CLI::App& app, Request& request);

}  // namespace tandem::cli
