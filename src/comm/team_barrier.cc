// SPDX-License-Identifier: Apache-2.0
#include "comm/team_barrier.h"

namespace tandem {

using Kind = EpochSlot::Kind;

TeamBarrier::TeamBarrier(VectorCore& core, int ranks, int jobs, int job, BarrierLayout layout)
    : core_(core), ranks_(ranks), jobs_(jobs), job_(job), layout_(layout) {}

void TeamBarrier::cross_device() {
  if (!takes_part()) return;
  ++device_count_;
  const int self = core_.rank();
  const Slice own = targets_of_job(ranks_, jobs_, job_);
  // One slot for all jobs: any job's arrival releases every peer. Kept so that the checker can
  // show what is wrong with it.
  const Slice told = layout_ == BarrierLayout::single_slot ? Slice{0, ranks_} : own;
  for (int peer = static_cast<int>(told.first); peer < told.end(); ++peer) {
    if (peer == self) continue;
    core_.store_epoch(peer, {Kind::arrived, self}, device_count_);
  }
  for (int peer = static_cast<int>(own.first); peer < own.end(); ++peer) {
    if (peer == self) continue;
    core_.wait_epoch({Kind::arrived, peer}, device_count_);
  }
}

void TeamBarrier::cross_core() {
  if (!takes_part()) return;
  ++core_count_;
  core_.store_epoch(core_.rank(), {Kind::core, job_}, core_count_);
  for (int job = 0; job < jobs_; ++job) {
    if (job != job_) core_.wait_epoch({Kind::core, job}, core_count_);
  }
}

}  // namespace tandem
