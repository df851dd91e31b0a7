// SPDX-License-Identifier: Apache-2.0
#include "host/transport/ucx_streams.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <utility>

#include "base/strings.h"
#include "host/spawn.h"
#include "host/transport/transport.h"
#include "host/transport/ucx_library.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

// Counts how many connections are open.
int open_count = 0;
decltype(UcxLibrary::ep_create) real_create = nullptr;
decltype(UcxLibrary::ep_close_nbx) real_close = nullptr;

ucs_status_t counted_create(ucp_worker_h worker, const ucp_ep_params_t* parameters,
                            ucp_ep_h* endpoint) {
  const ucs_status_t status = real_create(worker, parameters, endpoint);
  open_count += status == UCS_OK ? 1 : 0;
  return status;
}

ucs_status_ptr_t counted_close(ucp_ep_h endpoint, const ucp_request_param_t* parameters) {
  --open_count;
  return real_close(endpoint, parameters);
}

// A worker must not go while a connection of it is open.
std::string reach_one_and_another_not() {
  const SocketAddress root{"127.0.0.1", "7000"};
  const UcxWorker sound(root);
  auto own = std::make_unique<UcxWorker>(root);
  // Reached by nobody but itself.
  setenv("UCX_TLS", "self", 1);
  const UcxWorker lonely(root);
  auto& library = const_cast<UcxLibrary&>(ucx());
  real_create = std::exchange(library.ep_create, counted_create);
  real_close = std::exchange(library.ep_close_nbx, counted_close);
  const std::vector<std::string> addresses = {sound.address(), own->address(), lonely.address()};
  try {
    make_ucx_streams(std::move(own), addresses, 1);
  } catch (const Error& error) {
    return cat(open_count, " are open: ", error.what());
  }
  return "it was reached";
}

// In a process of its own: the library takes its settings when it is loaded, once.
TEST(UcxStreams, ThatCannotReachAPeerCloseTheConnectionsToTheOthers) {
  const auto transport = make_transport("shm", 1);
  const auto outcomes =
      run_as_processes(*transport, [](int) { return reach_one_and_another_not(); }, {});
  EXPECT_TRUE(outcomes[0].result.starts_with("0 are open: ucx: no connection to rank 2: "))
      << outcomes[0].result << outcomes[0].message;
}

}  // namespace
}  // namespace tandem::host
