// SPDX-License-Identifier: Apache-2.0
#include "host/transport/ucx_library.h"

#include <dlfcn.h>

#include "base/strings.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

[[noreturn]] void throw_absent() {
  const char* why = dlerror();
  throw Error(ErrorKind::environment, cat("ucx: ", why == nullptr ? "it cannot be loaded" : why,
                                          "; install libucx0, or use --transport tcp"));
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw_absent();
}

UcxLibrary load() {
  void* library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw_absent();
  UcxLibrary made{};
  find(library, "ucp_config_read", made.config_read);
  find(library, "ucp_config_release", made.config_release);
  find(library, "ucp_init_version", made.init_version);
  find(library, "ucp_cleanup", made.cleanup);
  find(library, "ucp_worker_create", made.worker_create);
  find(library, "ucp_worker_destroy", made.worker_destroy);
  find(library, "ucp_worker_get_address", made.worker_get_address);
  find(library, "ucp_worker_release_address", made.worker_release_address);
  find(library, "ucp_worker_get_efd", made.worker_get_efd);
  find(library, "ucp_worker_progress", made.worker_progress);
  find(library, "ucp_worker_arm", made.worker_arm);
  find(library, "ucp_ep_create", made.ep_create);
  find(library, "ucp_ep_close_nbx", made.ep_close_nbx);
  find(library, "ucp_request_free", made.request_free);
  find(library, "ucp_stream_send_nbx", made.stream_send_nbx);
  find(library, "ucp_stream_recv_data_nb", made.stream_recv_data_nb);
  find(library, "ucp_stream_data_release", made.stream_data_release);
  find(library, "ucp_stream_worker_poll", made.stream_worker_poll);
  find(library, "ucs_status_string", made.status_string);
  return made;
}

}  // namespace

const UcxLibrary& ucx() {
  static UcxLibrary library = load();  // not const: tests listen to its calls
  return library;
}

}  // namespace tandem::host
