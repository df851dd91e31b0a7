// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "host/transport/transport.h"

namespace tandem::host {

#if defined(TANDEM_HAS_UCX)
inline constexpr Built kUcxBuilt = Built::yes;
#else
inline constexpr Built kUcxBuilt = Built::no;
#endif

// Ranks connected by UCX. Without a seat as make_tcp_transport(). Throws Error{environment} if this
// build has no UCX.
std::unique_ptr<Transport> make_ucx_transport(int ranks, const TransportOptions& options);

}  // namespace tandem::host
