// SPDX-License-Identifier: Apache-2.0
#include "comm/collective_comm.h"

#include "comm/registry.h"

namespace tandem {
namespace {

bool has(BarrierMode mode, BarrierMode part) {
  return (static_cast<int>(mode) & static_cast<int>(part)) != 0;
}

}  // namespace

CollectiveComm::CollectiveComm(VectorCore& core, const CommPlan& plan, TeamBarrier& barrier,
                               int jobs, int job)
    : core_(core),
      plan_(plan),
      barrier_(barrier),
      targets_(job >= 0 && job < jobs ? targets_of_job(plan.ranks, jobs, job) : Slice{}),
      idle_(job < 0 || job >= jobs) {}

void CollectiveComm::init(BarrierMode mode) {
  if (idle_) return;
  if (is_put(plan_.hook)) device_then_core(mode);
}

void CollectiveComm::commit(BarrierMode mode) {
  if (idle_ || round_ == plan_.rounds()) return;
  if (!is_put(plan_.hook)) core_then_device(mode);
  const HookEntry& hook = find_hook(plan_.hook);
  for (int peer = static_cast<int>(targets_.first); peer < targets_.end(); ++peer) {
    if (peer != core_.rank()) hook.commit(core_, plan_, peer, round_);
  }
  ++round_;
}

void CollectiveComm::wait(BarrierMode mode) {
  if (idle_) return;
  for (int peer = static_cast<int>(targets_.first); peer < targets_.end(); ++peer) {
    if (peer != core_.rank()) core_.channel(peer).drain();
  }
  if (is_put(plan_.hook)) device_then_core(mode);
}

void CollectiveComm::finalize(BarrierMode mode) {
  if (idle_) return;
  if (!is_put(plan_.hook)) core_then_device(mode);
}

void CollectiveComm::device_then_core(BarrierMode mode) {
  if (has(mode, BarrierMode::device)) barrier_.cross_device();
  if (has(mode, BarrierMode::core)) barrier_.cross_core();
}

void CollectiveComm::core_then_device(BarrierMode mode) {
  if (has(mode, BarrierMode::core)) barrier_.cross_core();
  if (has(mode, BarrierMode::device)) barrier_.cross_device();
}

}  // namespace tandem
