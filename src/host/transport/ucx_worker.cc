// SPDX-License-Identifier: Apache-2.0
#include "host/transport/ucx_worker.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>

#include "base/strings.h"
#include "host/transport/ucx_library.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

// The interface that has the address by which this host reaches `root`.
std::string interface_to(const SocketAddress& root) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(root.host.c_str(), root.port.c_str(), &hints, &found) != 0) return "";
  // Connecting a datagram socket sends nothing; it asks the routes.
  const Socket probe(socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool routed = connect(probe.file(), found->ai_addr, found->ai_addrlen) == 0;
  freeaddrinfo(found);
  if (!routed) return "";
  const std::string own = local_address(probe).host;
  std::string name;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "";
  for (const ifaddrs* next = all; next != nullptr; next = next->ifa_next) {
    if (next->ifa_addr == nullptr) continue;
    const int family = next->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char host[NI_MAXHOST] = {};
    const socklen_t bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    getnameinfo(next->ifa_addr, bytes, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
    if (own == host) name = next->ifa_name;
  }
  freeifaddrs(all);
  return name;
}

bool has_rdma_devices() {
  DIR* folder = opendir("/sys/class/infiniband");
  if (folder == nullptr) return false;
  bool any = false;
  while (const dirent* entry = readdir(folder)) any = any || entry->d_name[0] != '.';
  closedir(folder);
  return any;
}

// UCX reads its settings from the environment, some when it is loaded, the others before the
// context is made; what the user has set stays. A change to the configuration object later is
// accepted and has no effect (1.13).
void set_defaults(const SocketAddress& root) {
  // Software transfers go in 8 KiB pieces by default: a quarter of the bandwidth of these.
  setenv("UCX_TCP_TX_SEG_SIZE", "256k", 0);
  setenv("UCX_TCP_RX_SEG_SIZE", "256k", 0);
  // The kernel's own choice is megabytes, and nothing overtakes what lies there.
  setenv("UCX_TCP_SNDBUF", "128k", 0);
  setenv("UCX_LOG_LEVEL", "fatal", 0);     // what goes wrong is reported by us, with its rank
  setenv("UCX_HANDLE_ERRORS", "none", 0);  // a library installs no signal handlers
  setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 0);
  // Shared memory of its own leaves files in /dev/shm behind a killed rank, and fails across
  // containers of one host.
  setenv("UCX_TLS", "^posix,sysv,cma,knem,xpmem", 0);
  // With sockets alone a peer may be tried by the loopback or a bridge of containers.
  const std::string interface = has_rdma_devices() ? "" : interface_to(root);
  if (!interface.empty()) setenv("UCX_NET_DEVICES", interface.c_str(), 0);
}

}  // namespace

void throw_ucx_error(const std::string& what, ucs_status_t status) {
  throw Error(ErrorKind::environment, cat("ucx: ", what, ": ", ucx().status_string(status),
                                          "; look at ucx_info -d, or use --transport tcp"));
}

UcxWorker::UcxWorker(const SocketAddress& root) {
  set_defaults(root);
  ucp_config_t* configuration = nullptr;
  ucs_status_t status = ucx().config_read(nullptr, nullptr, &configuration);
  if (status != UCS_OK) throw_ucx_error("its settings make no sense", status);
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
  parameters.features = UCP_FEATURE_STREAM | UCP_FEATURE_WAKEUP;
  status = ucx().init_version(UCP_API_MAJOR, UCP_API_MINOR, &parameters, configuration, &context_);
  ucx().config_release(configuration);
  if (status != UCS_OK) throw_ucx_error("no context", status);
  ucp_worker_params_t wanted{};
  wanted.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  wanted.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status = ucx().worker_create(context_, &wanted, &worker_);
  if (status == UCS_OK) return;
  ucx().cleanup(context_);
  throw_ucx_error("no worker", status);
}

UcxWorker::~UcxWorker() {
  ucx().worker_destroy(worker_);
  ucx().cleanup(context_);
}

std::string UcxWorker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  const ucs_status_t status = ucx().worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) throw_ucx_error("no address", status);
  std::string text(reinterpret_cast<const char*>(address), bytes);
  ucx().worker_release_address(worker_, address);
  return text;
}

}  // namespace tandem::host
