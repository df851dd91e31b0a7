// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <memory>
#include <string>
#include <vector>

#include "host/link/streams.h"
#include "host/net/socket.h"

namespace tandem::host {

// A context and a worker of UCX, and the address by which others reach it.
class UcxWorker {
 public:
  // Peers are on the network that reaches `root`. Throws Error{environment} if UCX does not start.
  explicit UcxWorker(const SocketAddress& root);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  ucp_worker_h handle() const { return worker_; }
  std::string address() const;

 private:
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
};

// Streams to the workers of these addresses, but for the own rank's.
std::unique_ptr<Streams> make_ucx_streams(std::unique_ptr<UcxWorker> worker,
                                          const std::vector<std::string>& addresses, int rank);

}  // namespace tandem::host
