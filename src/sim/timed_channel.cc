// SPDX-License-Identifier: Apache-2.0
// Transfers of a timed run: a channel moves one after the other, their latencies overlap.
#include "sim/entities.h"
#include "sim/timed.h"

namespace tandem::sim {

void TimedRun::begin_channel(int index) {
  SimChannel& channel = *machine_->channels_[index];
  SimCore& core = *machine_->cores_[channel.core];
  while (channels_.size() <= static_cast<std::size_t>(index)) {
    const SimChannel& other = *machine_->channels_[channels_.size()];
    const SimCore& owner = *machine_->cores_[other.core];
    channels_.push_back({.track = static_cast<int>(timeline_.tracks.size()), .last = {},
                         .arrived = {}});
    timeline_.tracks.push_back({.rank = owner.rank, .block = owner.block, .cube = false,
                                .peer = other.peer, .pipe = "channel"});
  }
  ChannelState& state = channels_[index];
  Op& op = *channel.ops.front();
  channel.active = true;
  machine_->begin_op(op);
  const Origin issue{op.slice, Cause::issue, static_cast<Picoseconds>(op.issue_time)};
  const bool behind = state.last.slice >= 0 && state.last.time >= issue.time;
  op.slice = add_slice(state.track, op, behind ? state.last : issue, now_);
  TimelineRank& totals = timeline_.ranks[core.rank];
  totals.sent_bytes += op.v0.bytes();
  ++totals.transfers;
  timeline_.slices[op.slice].bytes = op.v0.bytes();
  begin_job(core,
            {.kind = Job::Kind::transfer, .core = channel.core, .part = index, .slice = op.slice,
             .begin = now_},
            cost_.transfer(op, core.rank, channel.peer));
}

// The last byte has left; the channel's next transfer may begin.
void TimedRun::end_transfer(std::uint64_t index) {
  const Job& job = jobs_[index];
  SimChannel& channel = *machine_->channels_[job.part];
  flying_[index] = std::move(channel.ops.front());
  channel.ops.pop_front();
  channel.active = false;
  TimelineSlice& slice = timeline_.slices[job.slice];
  slice.end = now_;
  slice.work = slice.end - slice.begin;
  channels_[job.part].last = {job.slice, Cause::pipe, now_};
  machine_->touch(machine_->channel_entity_[job.part]);
  const OpKind kind = flying_[index]->kind;
  const int ways = kind == OpKind::read || kind == OpKind::fetch_add ? 2 : 1;
  plan({.kind = Event::Kind::arrival, .item = index},
       cost_.time(cost_.costs().link_latency_ns * ways, true));
}

void TimedRun::arrive(std::uint64_t index) {
  const Job job = jobs_[index];
  SimChannel& channel = *machine_->channels_[job.part];
  std::unique_ptr<Op> op = std::move(flying_[index]);
  machine_->end_op(*op);
  machine_->spare_.push_back(std::move(op));
  free_jobs_.push_back(index);
  ++channel.done;
  channels_[job.part].arrived = {job.slice, Cause::drain, now_};
  machine_->touch(channel.core * kLaneSlots);
}

}  // namespace tandem::sim
