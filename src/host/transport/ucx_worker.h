// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "host/net/socket.h"

namespace tandem::host {

// Throws Error{environment}: what failed, and what UCX says of it.
[[noreturn]] void throw_ucx_error(const std::string& what, ucs_status_t status);

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

}  // namespace tandem::host
