// SPDX-License-Identifier: Apache-2.0
#include "sim/machine.h"

#include <algorithm>

#include "base/check.h"
#include "base/strings.h"
#include "sim/execute.h"
#include "sim/sim_core.h"

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

std::string Machine::entity_name(int entity) const {
  const int in_cores = static_cast<int>(cores_.size()) * kLaneSlots;
  if (entity < in_cores) {
    const SimCore& core = *cores_[entity / kLaneSlots];
    return cat("rank ", core.rank, " ", core.name(), " ",
               to_string(static_cast<Lane>(entity % kLaneSlots)));
  }
  const int extra = extra_entities_[entity - in_cores];
  const int core_index = extra >= 0 ? channels_[extra]->core : wires_[-1 - extra]->core;
  const int peer = extra >= 0 ? channels_[extra]->peer : wires_[-1 - extra]->peer;
  const SimCore& core = *cores_[core_index];
  return cat("rank ", core.rank, " ", core.name(), extra >= 0 ? " channel to " : " stores to ",
             peer);
}

bool Machine::run(Schedule* schedule) {
  canonical_ = schedule == nullptr;
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
  const bool done = std::ranges::all_of(launch_, [&](int launch) {
    return launch == program_.launches;
  });
  if (!done) tell([](Observer& observer) { observer.stuck(); });
  return done;
}

bool Machine::head_ready(const SimCore& core, int lane) const {
  const PipeQueue& pipe = core.pipes[lane];
  if (pipe.ops.empty() || pipe.active) return false;
  const Op& head = *pipe.ops.front();
  switch (head.kind) {
    case OpKind::gate:
      return !core.flags[head.id & 15].empty();
    case OpKind::wait_event:
      return core.events.contains(static_cast<int>(head.event) * 16 + head.id);
    case OpKind::multiply:
      return !pipe.stages.empty();
    default:
      return true;
  }
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
      return std::ranges::all_of(core.pipes, [](const PipeQueue& pipe) { return pipe.ops.empty(); });
    case Blocked::Kind::flag:
      return !core.flags[blocked.id & 15].empty();
    case Blocked::Kind::drain:
    case Blocked::Kind::result:
      return channels_[blocked.id]->done >= blocked.value;
    case Blocked::Kind::epoch:
      return static_cast<std::int64_t>(epoch_word(core.rank, blocked.slot) - blocked.value) >= 0;
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
  switch (op.kind) {
    case OpKind::gate: {
      auto& flag = core.flags[op.id & 15];
      take(flag.front());
      flag.pop_front();
      break;
    }
    case OpKind::wait_event: {
      const auto found = core.events.find(static_cast<int>(op.event) * 16 + op.id);
      take(found->second);
      core.events.erase(found);
      break;
    }
    case OpKind::multiply: {
      auto& stages = core.pipes[static_cast<int>(Lane::m)].stages;
      take(stages.front());
      stages.pop_front();
      break;
    }
    default:
      break;
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
  switch (op.kind) {
    case OpKind::set_flag:
      set();
      deliver_flag(core_of(core.rank, core.block, !core.vector), op.id, token);
      break;
    case OpKind::set_sync:
      token.sync = true;
      set();
      syncs_[core.rank * 2 + (core.vector ? 1 : 0)][core.block].push_back(token);
      release_sync(core.rank, core.vector);
      break;
    case OpKind::set_event: {
      set();
      const int key = static_cast<int>(op.event) * 16 + op.id;
      if (!core.events.emplace(key, token).second) {
        violation(FindingCode::event_double_set, core, op.site,
                  cat("event ", to_string(op.event), "(", op.id, ")"),
                  "it was set before and nobody waited in between");
      }
      for (int lane = 1; lane < kLanes; ++lane) touch(core.index * kLaneSlots + lane);
      break;
    }
    case OpKind::stage_l0:
      set();
      core.pipes[static_cast<int>(Lane::m)].stages.push_back(token);
      touch(core.index * kLaneSlots + static_cast<int>(Lane::m));
      break;
    case OpKind::write_notify:
      store_epoch(core, channels_[op.channel]->peer, op.slot, op.value, &op, op.site);
      break;
    default:
      break;
  }
}

void Machine::deliver_flag(SimCore& to, int id, Token token) {
  const int counter = id & 15;
  const bool reserved = counter >= 11 && counter <= 14;
  if (id != counter) {
    violation(FindingCode::flag_range, *cores_[token.core], token.site, cat("flag ", id),
              cat("the device cuts ids to four bits: this is flag ", counter));
  }
  if (reserved && !token.sync) {
    violation(FindingCode::flag_reserved, *cores_[token.core], token.site, cat("flag ", counter),
              "flags 11 to 14 belong to sync_all; use 0 to 10 or 15");
  }
  to.protocols[counter] |= token.sync ? 2 : 1;
  if (to.protocols[counter] == 3) {
    violation(FindingCode::flag_alias, *cores_[token.core], token.site, cat("flag ", counter),
              "the kernel and sync_all count on one counter");
    to.protocols[counter] |= 4;  // said once
  }
  to.flags[counter].push_back(token);
  if (to.flags[counter].size() == 16) {
    violation(FindingCode::flag_overflow, *cores_[token.core], token.site, cat("flag ", counter),
              cat(to.name(), " has 16 untaken counts; the counter ends at 15"));
  }
  for (int lane = 0; lane < kLanes; ++lane) touch(to.index * kLaneSlots + lane);
}

void Machine::release_sync(int rank, bool vector) {
  auto& members = syncs_[rank * 2 + (vector ? 1 : 0)];
  if (std::ranges::any_of(members, [](const auto& sets) { return sets.empty(); })) return;
  Token whole = members[0].front();
  whole.id = next_token_++;
  whole.shares = blocks();
  for (auto& sets : members) {
    tell([&](Observer& observer) { observer.merge(whole, sets.front()); });
    sets.pop_front();
  }
  for (int block = 0; block < blocks(); ++block) {
    deliver_flag(core_of(rank, block, vector), vector ? 14 : 11, whole);
  }
}

}  // namespace tandem::sim
