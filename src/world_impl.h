// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "host/host_rank.h"
#include "host/worker_pool.h"
#include "link_figures.h"
#include "tandem/world.h"

namespace tandem {

struct World::Impl {
  Impl() = default;
  ~Impl();

  WorldOptions options;
  host::Transport* transport = nullptr;
  std::unique_ptr<host::Transport> own_transport;  // if this world is alone to use it
  std::unique_ptr<host::HostRank> rank;
  std::unique_ptr<host::WorkerPool> pool;
  std::optional<LinkFigures> link;  // once they are measured
};

}  // namespace tandem
