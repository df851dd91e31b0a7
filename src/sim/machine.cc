// SPDX-License-Identifier: Apache-2.0
#include "sim/machine.h"

#include <algorithm>

#include "base/check.h"
#include "base/strings.h"
#include "sim/execute.h"
#include "sim/sim_core.h"
#include "sim/timed.h"

namespace tandem::sim {
namespace {

constexpr int kWordsPerRank = 2 * kRanksMax;
constexpr int kLaneSlots = 8;  // entity numbers of a core

int word_index(EpochSlot slot) {
  return (slot.kind == EpochSlot::Kind::arrived ? 0 : kRanksMax) + slot.index;
}

}  // namespace

std::string SimCore::name() const { return cat(vector ? "vector " : "cube ", block); }

Machine::Machine(Program program, std::vector<Observer*> observers)
    : program_(std::move(program)), observers_(std::move(observers)) {
  const int rank_count = ranks();
  memory_.resize(rank_count * kBufferCount);
  words_.resize(rank_count * kWordsPerRank);
  syncs_.resize(rank_count * 2);
  launch_.assign(rank_count, -1);
  running_.assign(rank_count, 0);
  epoch_base_.assign(rank_count, 0);
  for (int rank = 0; rank < rank_count; ++rank) {
    if (program_.values) {
      for (int buffer = 0; buffer < kBufferCount; ++buffer) {
        memory_[rank * kBufferCount + buffer].resize(
            program_.ranks[rank].launch.extents[buffer].bytes);
      }
    }
    for (int kind = 0; kind < 2; ++kind) syncs_[rank * 2 + kind].resize(blocks());
    for (int block = 0; block < blocks(); ++block) {
      for (bool vector : {false, true}) {
        auto core = std::make_unique<SimCore>();
        core->index = static_cast<int>(cores_.size());
        core->rank = rank;
        core->block = block;
        core->vector = vector;
        core->fiber = std::make_unique<Fiber>(program_.stack_bytes);
        core->core = make_sim_core(*this, *core);
        cores_.push_back(std::move(core));
      }
    }
  }
  place_.assign(cores_.size() * kLaneSlots, 0);
}

Machine::~Machine() = default;

SimCore& Machine::core_of(int rank, int block, bool vector) {
  return *cores_[(rank * blocks() + block) * 2 + (vector ? 1 : 0)];
}

std::byte* Machine::memory(int rank, Buffer buffer) {
  return memory_[rank * kBufferCount + static_cast<int>(buffer)].data();
}

std::uint64_t Machine::epoch_word(int rank, EpochSlot slot) const {
  return words_[rank * kWordsPerRank + word_index(slot)];
}

Entity Machine::entity(int number) const {
  const int in_cores = static_cast<int>(cores_.size()) * kLaneSlots;
  if (number < in_cores) return {Entity::Kind::lane, number / kLaneSlots, number % kLaneSlots};
  const int extra = extra_entities_[number - in_cores];
  if (extra >= 0) return {Entity::Kind::channel, channels_[extra]->core, channels_[extra]->peer};
  return {Entity::Kind::wire, wires_[-1 - extra]->core, wires_[-1 - extra]->peer};
}

const EpochStore* Machine::next_store(int number) const {
  const int extra = extra_entities_[number - static_cast<int>(cores_.size()) * kLaneSlots];
  const auto& stores = wires_[-1 - extra]->stores;
  return stores.empty() ? nullptr : &stores.front();
}

std::string Machine::entity_name(int number) const {
  const Entity it = entity(number);
  const SimCore& core = *cores_[it.core];
  const std::string name = cat("rank ", core.rank, " ", core.name());
  switch (it.kind) {
    case Entity::Kind::lane:
      return cat(name, " ", to_string(static_cast<Lane>(it.part)));
    case Entity::Kind::channel:
      return cat(name, " channel to ", it.part);
    case Entity::Kind::wire:
      return cat(name, " stores to ", it.part);
  }
  return name;
}

bool Machine::run(Schedule* schedule) {
  canonical_ = schedule == nullptr;
  explored_ = !canonical_;
  for (int rank = 0; rank < ranks(); ++rank) start_launch(rank);
  while (canonical_ ? !queue_.empty() : !ready_.empty()) {
    int entity;
    if (canonical_) {
      entity = queue_.front();
      queue_.pop_front();
      place_[entity] = 0;
      if (!enabled(entity)) continue;
    } else {
      const std::size_t index = schedule->pick(*this, ready_);
      entity = ready_[index];
      ready_[index] = ready_.back();
      place_[ready_[index]] = static_cast<int>(index) + 1;
      ready_.pop_back();
      place_[entity] = 0;
      if (!enabled(entity)) continue;
    }
    ++steps_;
    step(entity, canonical_);
    touch(entity);
  }
  const bool done =
      std::ranges::all_of(launch_, [&](int launch) { return launch == program_.launches; });
  if (!done) tell([](Observer& observer) { observer.stuck(); });
  return done;
}

bool Machine::head_ready(const SimCore& core, int lane) const {
  const PipeQueue& pipe = core.pipes[lane];
  if (pipe.ops.empty() || pipe.active) return false;
  const Op& head = *pipe.ops.front();
  if (head.kind == OpKind::gate) return !core.flags[head.id & 15].empty();
  if (head.kind == OpKind::wait_event) {
    return core.events.contains(static_cast<int>(head.event) * 16 + head.id);
  }
  if (head.kind == OpKind::multiply) return !pipe.stages.empty();
  return head.kind == OpKind::set_event || !pipe.streaming;
}

bool Machine::unblocked(const SimCore& core) const {
  const Blocked& blocked = core.blocked;
  switch (blocked.kind) {
    case Blocked::Kind::none:
      return true;
    case Blocked::Kind::queue:
      return core.pipes[blocked.id].ops.size() <
             static_cast<std::size_t>(program_.profile.queue_depth);
    case Blocked::Kind::idle:
      return std::ranges::all_of(
          core.pipes, [](const PipeQueue& pipe) { return pipe.ops.empty() && !pipe.streaming; });
    case Blocked::Kind::flag:
      return !core.flags[blocked.id & 15].empty();
    case Blocked::Kind::drain:
    case Blocked::Kind::result:
      return channels_[blocked.id]->done >= blocked.value;
    case Blocked::Kind::epoch:
      return static_cast<std::int64_t>(epoch_word(core.rank, blocked.slot) - blocked.value) >= 0;
    case Blocked::Kind::time:
      return timed_->now() >= static_cast<Picoseconds>(blocked.value);
  }
  return false;
}

bool Machine::enabled(int entity) const {
  const int in_cores = static_cast<int>(cores_.size()) * kLaneSlots;
  if (entity >= in_cores) {
    const int extra = extra_entities_[entity - in_cores];
    return extra >= 0 ? !channels_[extra]->ops.empty() && !channels_[extra]->active
                      : !wires_[-1 - extra]->stores.empty();
  }
  const SimCore& core = *cores_[entity / kLaneSlots];
  const int lane = entity % kLaneSlots;
  if (lane == 0) return !core.finished && unblocked(core);
  return lane < kLanes && head_ready(core, lane);
}

void Machine::touch(int entity) {
  if (place_[entity] != 0 || !enabled(entity)) return;
  if (canonical_) {
    place_[entity] = 1;
    queue_.push_back(entity);
  } else {
    ready_.push_back(entity);
    place_[entity] = static_cast<int>(ready_.size());
  }
}

void Machine::step(int entity, bool until_blocked) {
  const int in_cores = static_cast<int>(cores_.size()) * kLaneSlots;
  if (entity < in_cores) {
    SimCore& core = *cores_[entity / kLaneSlots];
    const int lane = entity % kLaneSlots;
    if (lane == 0) {
      run_fiber(core);
    } else {
      while (run_pipe(core, lane) && until_blocked) {
      }
    }
    return;
  }
  const int extra = extra_entities_[entity - in_cores];
  if (extra >= 0) {
    while (run_channel(*channels_[extra]) && until_blocked) {
    }
  } else {
    while (run_wire(*wires_[-1 - extra]) && until_blocked) {
    }
  }
}

bool Machine::run_fiber(SimCore& core) {
  core.fiber->resume();
  if (core.fiber->finished() && !core.finished) {
    core.finished = true;
    core_finished(core);
  }
  return true;
}

bool Machine::run_pipe(SimCore& core, int lane) {
  if (!head_ready(core, lane)) return false;
  PipeQueue& pipe = core.pipes[lane];
  Op& op = *pipe.ops.front();
  begin_op(op);
  end_op(op);
  spare_.push_back(std::move(pipe.ops.front()));
  pipe.ops.pop_front();
  touch(core.index * kLaneSlots);
  if (core.finished && running_[core.rank] == 0) end_launch(core.rank);
  return true;
}

bool Machine::run_channel(SimChannel& channel) {
  if (channel.ops.empty()) return false;
  Op& op = *channel.ops.front();
  begin_op(op);
  end_op(op);
  spare_.push_back(std::move(channel.ops.front()));
  channel.ops.pop_front();
  ++channel.done;
  touch(channel.core * kLaneSlots);
  return true;
}

bool Machine::run_wire(Wire& wire) {
  if (wire.stores.empty()) return false;
  const EpochStore store = wire.stores.front();
  wire.stores.pop_front();
  words_[store.rank * kWordsPerRank + word_index(store.slot)] = store.value;
  tell([&](Observer& observer) {
    observer.epoch_arrives(store.rank, store.slot, store.value, store.token);
  });
  for (int block = 0; block < blocks(); ++block) {
    touch(core_of(store.rank, block, true).index * kLaneSlots);
  }
  return true;
}

void Machine::begin_op(Op& op) {
  ++ops_;
  SimCore& core = *cores_[op.core];
  const auto take = [&](const Token& token) {
    tell([&](Observer& observer) { observer.take(core, &op, token, op.site); });
  };
  if (op.kind == OpKind::gate) {
    auto& flag = core.flags[op.id & 15];
    take(flag.front());
    flag.pop_front();
  } else if (op.kind == OpKind::wait_event) {
    const auto found = core.events.find(static_cast<int>(op.event) * 16 + op.id);
    take(found->second);
    core.events.erase(found);
  } else if (op.kind == OpKind::multiply) {
    auto& stages = core.pipes[static_cast<int>(Lane::m)].stages;
    take(stages.front());
    stages.pop_front();
  }
  tell([&](Observer& observer) { observer.begin(op); });
  if (program_.values && !op.void_op) execute(*this, packed_, op);
}

void Machine::end_op(Op& op) {
  SimCore& core = *cores_[op.core];
  tell([&](Observer& observer) { observer.end(op); });
  Token token{.id = 0, .core = op.core, .lane = op.lane, .site = op.site};
  const auto set = [&] {
    token.id = next_token_++;
    tell([&](Observer& observer) { observer.set(op, token); });
  };
  if (op.kind == OpKind::set_flag) {
    set();
    deliver_flag(core_of(core.rank, core.block, !core.vector), op.id, token);
  } else if (op.kind == OpKind::set_sync) {
    token.sync = true;
    set();
    syncs_[core.rank * 2 + (core.vector ? 1 : 0)][core.block].push_back(token);
    release_sync(core.rank, core.vector);
  } else if (op.kind == OpKind::set_event) {
    set();
    deliver_event(core, static_cast<int>(op.event) * 16 + op.id, token);
  } else if (op.kind == OpKind::stage_l0) {
    set();
    core.pipes[static_cast<int>(Lane::m)].stages.push_back(token);
    touch(core.index * kLaneSlots + static_cast<int>(Lane::m));
  } else if (op.kind == OpKind::write_notify) {
    store_epoch(core, channels_[op.channel]->peer, op.slot, op.value, &op, op.site);
  }
}

}  // namespace tandem::sim
