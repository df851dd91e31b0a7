// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "host/host_rank.h"
#include "host/worker_pool.h"
#include "link_figures.h"
#include "tandem/world.h"

namespace tandem {

// How ranks of one host reach each other over a transport between hosts.
inline SameHost same_host_of(const WorldOptions& options) {
  return options.same_host.value_or(options.membership ? SameHost::shared : SameHost::linked);
}

struct World::Impl {
  Impl() = default;
  ~Impl();

  WorldOptions options;
  host::Transport* transport = nullptr;
  std::unique_ptr<host::Transport> own_transport;  // if this world is alone to use it
  std::unique_ptr<host::HostRank> rank;
  std::unique_ptr<host::WorkerPool> pool;
  std::optional<bool> shares_memory;  // once it is asked
  std::optional<LinkFigures> link;    // once they are measured
};

}  // namespace tandem
