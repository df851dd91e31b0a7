// SPDX-License-Identifier: Apache-2.0
// Cores that hand each verb on to another core: the base of whatever watches, mutes or changes
// some verbs of a kernel.
#pragma once

#include "machine/core.h"

namespace tandem {

// What both kinds of core share.
template <typename Base>
class ForwardingCore : public Base {
 public:
  explicit ForwardingCore(Base& core) : Base(core.rank(), core.block()), core_(core) {}
  void set_flag(Pipe pipe, FlagId id, Site site) override { core_.set_flag(pipe, id, site); }
  void wait_flag(FlagId id, Site site) override { core_.wait_flag(id, site); }
  void gate(Pipe pipe, FlagId id, Site site) override { core_.gate(pipe, id, site); }
  void sync_all(Site site) override { core_.sync_all(site); }
  void pipe_barrier(Pipe pipe, Site site) override { core_.pipe_barrier(pipe, site); }
  void set_event(EventKind kind, int id, Site site) override { core_.set_event(kind, id, site); }
  void wait_event(EventKind kind, int id, Site site) override { core_.wait_event(kind, id, site); }
  void scalar(ScalarWork work, Site site) override { core_.scalar(work, site); }

 protected:
  Base& core_;
};

class ForwardingCube : public ForwardingCore<CubeCore> {
 public:
  using ForwardingCore::ForwardingCore;
  void load(int slot, std::span<const Fragment> a, WeightTile b, Site site) override {
    core_.load(slot, a, b, site);
  }
  void matmul(int slot, int half, Accumulate accumulate, Site site) override {
    core_.matmul(slot, half, accumulate, site);
  }
  void store(int half, std::span<const View> c, StoreMode mode, std::optional<View> bias,
             Site site) override {
    core_.store(half, c, mode, bias, site);
  }
  void cache_hint(CacheHint hint, Site site) override { core_.cache_hint(hint, site); }
};

}  // namespace tandem
