// SPDX-License-Identifier: Apache-2.0
// UCX is loaded when the transport is asked for, not linked: it takes settings and installs signal
// handlers when it is loaded, which runs over shared memory must not pay for.
#pragma once

#include <ucp/api/ucp.h>

namespace tandem::host {

struct UcxLibrary {
  decltype(&::ucp_config_read) config_read;
  decltype(&::ucp_config_release) config_release;
  decltype(&::ucp_init_version) init_version;
  decltype(&::ucp_cleanup) cleanup;
  decltype(&::ucp_worker_create) worker_create;
  decltype(&::ucp_worker_destroy) worker_destroy;
  decltype(&::ucp_worker_get_address) worker_get_address;
  decltype(&::ucp_worker_release_address) worker_release_address;
  decltype(&::ucp_worker_get_efd) worker_get_efd;
  decltype(&::ucp_worker_progress) worker_progress;
  decltype(&::ucp_worker_arm) worker_arm;
  decltype(&::ucp_ep_create) ep_create;
  decltype(&::ucp_ep_close_nbx) ep_close_nbx;
  decltype(&::ucp_request_free) request_free;
  decltype(&::ucp_stream_send_nbx) stream_send_nbx;
  decltype(&::ucp_stream_recv_data_nb) stream_recv_data_nb;
  decltype(&::ucp_stream_data_release) stream_data_release;
  decltype(&::ucp_stream_worker_poll) stream_worker_poll;
  decltype(&::ucs_status_string) status_string;
};

// The library of this process. Loads it the first time; throws Error{environment} with the package
// to install if it is not there.
const UcxLibrary& ucx();

}  // namespace tandem::host
