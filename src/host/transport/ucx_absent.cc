// SPDX-License-Identifier: Apache-2.0
#include "host/transport/ucx.h"
#include "tandem/error.h"

namespace tandem::host {

std::unique_ptr<Transport> make_ucx_transport(int, const TransportOptions&) {
  throw Error(ErrorKind::environment,
              "ucx: this build has no UCX; install libucx-dev and build again, or use "
              "--transport tcp");
}

}  // namespace tandem::host
