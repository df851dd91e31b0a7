// SPDX-License-Identifier: Apache-2.0
// The part of the machine that runs on the cores' fibres, and the ends of launches.
#include <algorithm>

#include "base/check.h"
#include "base/strings.h"
#include "sim/machine.h"
#include "sim/timed.h"

namespace tandem::sim {
namespace {

constexpr int kLaneSlots = 8;

}  // namespace

void Machine::start_launch(int rank) {
  const int launch = ++launch_[rank];
  if (launch == program_.launches) return;
  if (launch > 0) epoch_base_[rank] += program_.ranks[rank].launch.epochs;
  if (program_.before) program_.before(*this, rank, launch);
  tell([&](Observer& observer) { observer.launch_begins(rank, launch); });
  running_[rank] = 2 * blocks();
  const Launch& kernels = program_.ranks[rank].launch;
  for (int block = 0; block < blocks(); ++block) {
    for (bool vector : {false, true}) {
      SimCore& core = core_of(rank, block, vector);
      core.finished = false;
      core.blocked = {};
      core.fiber->start([&core, &kernels] {
        if (core.vector) {
          kernels.vector(static_cast<VectorCore&>(*core.core));
        } else {
          kernels.cube(static_cast<CubeCore&>(*core.core));
        }
      });
      touch(core.index * kLaneSlots);
    }
  }
}

void Machine::core_finished(SimCore& core) {
  for (const auto& [peer, index] : core.channels) {
    const SimChannel& channel = *channels_[index];
    if (channel.posted > channel.drained) {
      violation(FindingCode::put_undrained, core, core.blocked.site, cat("channel to rank ", peer),
                cat("the kernel ended with ", channel.posted - channel.drained,
                    " transfers that no drain covers"));
    }
  }
  if (--running_[core.rank] == 0) end_launch(core.rank);
}

void Machine::end_launch(int rank) {
  for (int block = 0; block < blocks(); ++block) {
    for (bool vector : {false, true}) {
      const SimCore& core = core_of(rank, block, vector);
      if (!core.finished) return;
      for (const PipeQueue& pipe : core.pipes) {
        if (!pipe.ops.empty() || pipe.streaming) return;  // its last operation comes back here
      }
    }
  }
  for (int block = 0; block < blocks(); ++block) {
    for (bool vector : {false, true}) {
      const SimCore& core = core_of(rank, block, vector);
      for (int id = 0; id < 16; ++id) {
        if (core.flags[id].empty()) continue;
        const Token& first = core.flags[id].front();
        violation(FindingCode::flag_residue, *cores_[first.core], first.site,
                  cat("flag ", id, " of ", core.name()),
                  cat(core.flags[id].size(), " counts are left at the end of the launch"));
      }
      for (const auto& [key, token] : core.events) {
        violation(FindingCode::event_residue, core, token.site,
                  cat("event ", to_string(static_cast<EventKind>(key / 16)), "(", key % 16, ")"),
                  "it is still set at the end of the launch");
      }
    }
  }
  tell([&](Observer& observer) { observer.launch_ends(rank, launch_[rank]); });
  if (program_.after) program_.after(*this, rank, launch_[rank]);
  start_launch(rank);
}

std::unique_ptr<Op> Machine::new_op(SimCore& core, OpKind kind, Lane lane, Site site) {
  std::unique_ptr<Op> op;
  if (spare_.empty()) {
    op = std::make_unique<Op>();
  } else {
    op = std::move(spare_.back());
    spare_.pop_back();
    op->accesses.clear();
    op->a.clear();
    op->c.clear();
    op->bias.reset();
    op->void_op = false;
    op->result = nullptr;
  }
  op->kind = kind;
  op->lane = lane;
  op->core = core.index;
  op->channel = -1;
  op->site = site;
  return op;
}

void Machine::enqueue(SimCore& core, std::unique_ptr<Op> op) {
  const int lane = static_cast<int>(op->lane);
  const Site site = op->site;
  auto& queue = core.pipes[lane].ops;
  core.held = std::move(op);  // the stack may be dropped while the core stands still
  if (timed_ != nullptr) timed_->call(core);
  if (queue.size() >= static_cast<std::size_t>(program_.profile.queue_depth)) {
    block(core,
          {.kind = Blocked::Kind::queue, .id = lane, .slot = {}, .value = 0, .site = site});
  }
  op = std::move(core.held);
  tell([&](Observer& observer) { observer.issue(*op); });
  if (timed_ != nullptr) timed_->issued(core, *op);
  queue.push_back(std::move(op));
  touch(core.index * kLaneSlots + lane);
  if (timed_ != nullptr) timed_->queued(core);
}

void Machine::post(SimCore& core, int peer, std::unique_ptr<Op> op) {
  if (timed_ != nullptr) timed_->post(core);
  auto found = core.channels.find(peer);
  if (found == core.channels.end()) {
    const int index = static_cast<int>(channels_.size());
    channels_.push_back(std::make_unique<SimChannel>());
    channels_.back()->core = core.index;
    channels_.back()->peer = peer;
    channel_entity_.push_back(static_cast<int>(place_.size()));
    extra_entities_.push_back(index);
    place_.push_back(0);
    found = core.channels.emplace(peer, index).first;
  }
  SimChannel& channel = *channels_[found->second];
  op->channel = found->second;
  ++channel.posted;
  tell([&](Observer& observer) { observer.issue(*op); });
  if (timed_ != nullptr) timed_->issued(core, *op);
  channel.ops.push_back(std::move(op));
  touch(channel_entity_[found->second]);
  if (timed_ != nullptr) timed_->posted(core, found->second);
}

void Machine::block(SimCore& core, const Blocked& blocked) {
  core.blocked = blocked;
  if (timed_ != nullptr) timed_->begin_wait(core, unblocked(core));
  // An explored schedule may let others go first although the wait is over already.
  if (explored_ && blocked.kind != Blocked::Kind::queue) core.fiber->suspend();
  while (!unblocked(core)) core.fiber->suspend();
  if (timed_ != nullptr) timed_->end_wait(core);
  core.blocked.kind = Blocked::Kind::none;
}

void Machine::scalar_work(SimCore& core, ScalarWork work) {
  if (timed_ != nullptr) timed_->work(core, work);
}

void Machine::take_flag(SimCore& core, int id, Site site) {
  if (timed_ != nullptr) timed_->call(core);
  block(core, {.kind = Blocked::Kind::flag, .id = id, .slot = {}, .value = 0, .site = site});
  auto& flag = core.flags[id & 15];
  const Token token = flag.front();
  flag.pop_front();
  tell([&](Observer& observer) { observer.take(core, nullptr, token, site); });
}

void Machine::wait_idle(SimCore& core, Site site) {
  if (timed_ != nullptr) timed_->call(core);
  block(core, {.kind = Blocked::Kind::idle, .id = 0, .slot = {}, .value = 0, .site = site});
  tell([&](Observer& observer) { observer.idle(core); });
}

void Machine::drain(SimCore& core, int peer, Site site) {
  const auto found = core.channels.find(peer);
  if (found == core.channels.end()) return;
  SimChannel& channel = *channels_[found->second];
  channel.drained = channel.posted;
  block(core, {.kind = Blocked::Kind::drain, .id = found->second, .slot = {},
               .value = channel.posted, .site = site});
  if (timed_ != nullptr) timed_->drain_over(core);
  tell([&](Observer& observer) { observer.drained(core, channel); });
}

Wire& Machine::wire_of(SimCore& core, int peer) {
  const auto [found, fresh] =
      wire_index_.emplace(std::pair{core.index, peer}, static_cast<int>(wires_.size()));
  if (fresh) {
    wires_.push_back(std::make_unique<Wire>());
    wires_.back()->core = core.index;
    wires_.back()->peer = peer;
    wire_entity_.push_back(static_cast<int>(place_.size()));
    extra_entities_.push_back(-1 - found->second);
    place_.push_back(0);
  }
  return *wires_[found->second];
}

void Machine::store_epoch(SimCore& core, int peer, EpochSlot slot, std::uint64_t value,
                          Op* notify, Site site) {
  if (timed_ != nullptr && notify == nullptr) timed_->call(core);
  Token token{.id = next_token_++, .core = core.index, .lane = Lane::scalar, .site = site};
  tell([&](Observer& observer) { observer.store_epoch(core, notify, token); });
  Wire& wire = wire_of(core, peer);
  wire.stores.push_back({peer, slot, epoch_base_[core.rank] + value, token});
  touch(wire_entity_[wire_index_.at({core.index, peer})]);
}

void Machine::wait_epoch(SimCore& core, EpochSlot slot, std::uint64_t value, Site site) {
  if (timed_ != nullptr) timed_->call(core);
  const std::uint64_t want = epoch_base_[core.rank] + value;
  block(core, {.kind = Blocked::Kind::epoch, .id = 0, .slot = slot, .value = want, .site = site});
  tell([&](Observer& observer) { observer.take_epoch(core, slot, want, site); });
}

void Machine::violation(FindingCode code, const SimCore& core, Site site, std::string object,
                        std::string detail) {
  Finding finding;
  finding.code = code;
  finding.object = std::move(object);
  finding.sides.push_back({core.rank, core.name(), "", "", site, launch_[core.rank]});
  finding.detail = std::move(detail);
  tell([&](Observer& observer) { observer.violation(finding); });
}

}  // namespace tandem::sim
