// SPDX-License-Identifier: Apache-2.0
#include "check/happens_before.h"

#include <algorithm>

#include "base/check.h"
#include "base/strings.h"

namespace tandem::check {
namespace {

constexpr int kReadEnd = 0;  // lanes of a channel's queue
constexpr int kWriteEnd = 1;
constexpr int kFlagLimit = 15;

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDu;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53u;
  return x ^ (x >> 33);
}

}  // namespace

void Confluence::doubt(const std::string& reason) {
  if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(reason);
}

void HappensBefore::attach(sim::Machine& machine) {
  machine_ = &machine;
  // Channels are cores behind the real ones, one each: at most one per pair of block and peer. The
  // last is the host.
  cores_per_rank_ = 2 * machine.blocks() + machine.blocks() * machine.ranks() + 1;
  cores_.resize(machine.cores().size());
  flags_.resize(machine.cores().size());
  rank_end_.resize(machine.ranks());
  hosts_.resize(machine.ranks());
  for (int rank = 0; rank < machine.ranks(); ++rank)
    hosts_[rank].clock.bind({rank, host_core(), 0});
  shadows_.resize(machine.ranks() * kBufferCount + machine.cores().size() * kLocalMemories);
  channels_of_rank_.assign(machine.ranks(), 0);
  for (const auto& core : machine.cores()) {
    for (int lane = 0; lane < sim::kLanes; ++lane) {
      LaneState& state = cores_[core->index].lanes[lane];
      state.start.bind(agent_of(*core, lane));
      state.ended.bind(agent_of(*core, lane));
    }
  }
}

Agent HappensBefore::agent_of(const sim::SimCore& core, int lane) const {
  return {core.rank, core_number(core), lane};
}

std::uint32_t HappensBefore::number(const Agent& agent) const {
  return static_cast<std::uint32_t>((agent.rank * cores_per_rank_ + agent.core) * kClockLanes +
                                    agent.lane);
}

Agent HappensBefore::agent_from(std::uint32_t number) const {
  const int core = static_cast<int>(number / kClockLanes);
  return {core / cores_per_rank_, core % cores_per_rank_, static_cast<int>(number % kClockLanes)};
}

bool HappensBefore::serial(sim::Lane lane) const {
  return lane == sim::Lane::m || (lane == sim::Lane::v && machine_->program().profile.serial_v);
}

HappensBefore::ChannelState& HappensBefore::channel_state(int channel) {
  if (channels_.size() <= static_cast<std::size_t>(channel)) channels_.resize(channel + 1);
  auto& state = channels_[channel];
  if (!state) {
    const sim::SimCore& core = *machine_->cores()[machine_->channels()[channel]->core];
    state = std::make_unique<ChannelState>();
    // Numbers in order of first use keep clocks small; hashes must not depend on that order.
    const int peer = machine_->channels()[channel]->peer;
    const int place =
        hash_ == Hash::on ? core.block * machine_->ranks() + peer : channels_of_rank_[core.rank]++;
    state->home = 2 * machine_->blocks() + place;
    state->clock.bind({core.rank, state->home, kWriteEnd});
  }
  return *state;
}

void HappensBefore::launch_begins(int rank, int launch) {
  const KnowledgeRef before = fill_window(rank, launch);
  for (int block = 0; block < machine_->blocks(); ++block) {
    for (bool vector : {false, true}) {
      CoreState& core = cores_[machine_->core_of(rank, block, vector).index];
      core.scalar().join_other(before);
      core.advance_scalar();
    }
  }
  // What this launch does not write must not be read.
  for (Buffer buffer : {Buffer::c, Buffer::staging}) {
    shadow({sim::Object::Kind::buffer, rank, static_cast<int>(buffer)}).poison();
  }
  poison_old(rank);
}

// A peer that is ahead may have written into the window for this launch already; what this rank
// knew when its launch before ended is from that one.
void HappensBefore::poison_old(int rank) {
  if (!rank_end_[rank]) return;
  const auto poison = [&](std::size_t place) {
    if (shadows_[place] == nullptr) return;
    shadows_[place]->poison_if([&](const Stamp& write) {
      return write.agent != kNobody && knows(rank_end_[rank], agent_from(write.agent), write.epoch);
    });
  };
  for (Buffer window : {Buffer::window_data, Buffer::window_scale}) {
    poison(static_cast<std::size_t>(rank) * kBufferCount + static_cast<std::size_t>(window));
  }
  const auto buffers = static_cast<std::size_t>(machine_->ranks()) * kBufferCount;
  const auto memories = static_cast<std::size_t>(2 * machine_->blocks()) * kLocalMemories;
  for (std::size_t i = 0; i < memories; ++i) poison(buffers + rank * memories + i);
}

void HappensBefore::launch_ends(int rank, int launch) {
  KnowledgeRef end = rank_end_[rank];
  for (int block = 0; block < machine_->blocks(); ++block) {
    for (bool vector : {false, true}) {
      CoreState& core = cores_[machine_->core_of(rank, block, vector).index];
      end = join(end, core.scalar().publish());
      for (int lane = 1; lane < sim::kLanes; ++lane) {
        end = join(end, core.lanes[lane].ended.publish());
      }
    }
  }
  rank_end_[rank] = end;
  const auto [first, stop] =
      shadow({sim::Object::Kind::buffer, rank, static_cast<int>(Buffer::c)}).first_gap();
  if (first < 0) return;
  Finding finding;
  finding.code = FindingCode::coverage;
  finding.object = cat("c[", rank, "] bytes ", first, " to ", stop);
  finding.detail = cat("never written in launch ", launch);
  findings_.add(finding);
}

void HappensBefore::issue(sim::Op& op) {
  if (free_records_.empty()) {
    op.record = static_cast<std::uint32_t>(records_.size());
    records_.emplace_back();
  } else {
    op.record = free_records_.back();
    free_records_.pop_back();
  }
  OpRecord& record = records_[op.record];
  CoreState& core = cores_[op.core];
  Clock& scalar = core.scalar();
  if (op.channel >= 0) {
    record.post = core.advance_scalar();
    record.published = scalar.publish(record.post);
    return;
  }
  record.issue = scalar;
}

void HappensBefore::begin(sim::Op& op) {
  OpRecord& record = records_[op.record];
  const sim::SimCore& core = *machine_->cores()[op.core];
  if (op.channel >= 0) {
    ChannelState& channel = channel_state(op.channel);
    channel.clock.follow_other(record.published);  // posts of one core: each knows what came before
    const std::uint32_t epoch = ++channel.epoch;
    const Agent reader{core.rank, channel.home, kReadEnd};
    const Agent writer{core.rank, channel.home, kWriteEnd};
    check_accesses(op, channel.clock, number(reader), epoch, record.post, false, true);
    channel.clock.set_own(kReadEnd, epoch);
    check_accesses(op, channel.clock, number(writer), epoch, record.post, true, false);
    hash_op(op, channel.clock, epoch);
    if (op.kind == sim::OpKind::write_reduce || op.kind == sim::OpKind::fetch_add) {
      confluence_.doubt("C4: remote updates of one place may come in any order");
    }
    return;
  }
  LaneState& lane = cores_[op.core].lanes[static_cast<int>(op.lane)];
  lane.start.join_same(record.issue);
  if (serial(op.lane) || op.kind == sim::OpKind::pipe_barrier) lane.start.join_same(lane.ended);
  const std::uint32_t epoch = ++lane.epoch;
  lane.start.settle(epoch);
  const Agent agent = agent_of(core, static_cast<int>(op.lane));
  check_accesses(op, lane.start, number(agent), epoch, 0, true, true);
  hash_op(op, lane.start, epoch);
}

void HappensBefore::end(sim::Op& op) {
  free_records_.push_back(op.record);
  if (op.channel >= 0) {
    ChannelState& channel = channel_state(op.channel);
    channel.clock.set_own(kWriteEnd, channel.epoch);
    records_[op.record].published = {};
    return;
  }
  LaneState& lane = cores_[op.core].lanes[static_cast<int>(op.lane)];
  lane.ended.follow_same(lane.start);  // nobody else tells it anything
  lane.ended.set_own(static_cast<int>(op.lane), lane.epoch);
}

void HappensBefore::set(sim::Op& op, sim::Token& token) {
  LaneState& lane = cores_[op.core].lanes[static_cast<int>(op.lane)];
  TokenState& state = tokens_[token.id];
  state.clock = lane.ended;
  state.epoch = lane.epoch;
  if (op.kind != sim::OpKind::set_flag) return;
  const sim::SimCore& core = *machine_->cores()[op.core];
  sim::SimCore& to = machine_->core_of(core.rank, core.block, !core.vector);
  watch_flag(to, op.id & 15, op);
  check_overflow(to, op.id & 15, lane.ended, op);
}

void HappensBefore::watch_flag(sim::SimCore& to, int id, const sim::Op& op) {
  FlagState& flag = flags_[to.index][id];
  const int producer = op.core * kClockLanes + static_cast<int>(op.lane);
  if (flag.producer >= 0 && flag.producer != producer) {
    confluence_.doubt(cat("C2: flag ", id, " of a ", to.vector ? "vector" : "cube",
                          " core is set from several pipes"));
  }
  flag.producer = producer;
}

// The set is counted up whatever the schedule does between: how many waits does the setter know?
void HappensBefore::check_overflow(sim::SimCore& to, int id, const Clock& setter,
                                   const sim::Op& op) {
  FlagState& flag = flags_[to.index][id];
  ++flag.sets;
  while (flag.known < flag.waits.size()) {
    const auto& [lane, epoch] = flag.waits[flag.known];
    if (!setter.knows(agent_of(to, lane), epoch)) break;
    ++flag.known;
  }
  const std::uint64_t backlog = flag.sets - flag.known;
  if (backlog <= kFlagLimit) return;
  Finding finding;
  finding.code = FindingCode::flag_overflow;
  finding.object = cat("flag ", id, " of ", to.name());
  finding.sides.push_back(side_of(
      number(agent_of(*machine_->cores()[op.core], static_cast<int>(op.lane))), describe(op)));
  finding.detail = cat("possible: in some schedule ", backlog,
                       " sets come before a wait takes one; the counter ends at ", kFlagLimit);
  findings_.add(finding);
}

void HappensBefore::take(sim::SimCore& core, sim::Op* op, const sim::Token& token, Site) {
  const auto found = tokens_.find(token.id);
  TANDEM_CHECK(found != tokens_.end(), "a token without a clock was taken");
  TokenState& state = found->second;
  const int lane = op != nullptr ? static_cast<int>(op->lane) : 0;
  LaneState& taker = cores_[core.index].lanes[lane];
  if (!state.merged && state.clock.same_home(taker.start)) {
    taker.start.join_same(state.clock);
  } else {
    if (!state.published) state.published = state.clock.publish(state.epoch);
    taker.start.join_other(state.published);
  }
  if (op == nullptr) {
    cores_[core.index].advance_scalar();
  }
  const bool is_flag = op == nullptr || op->kind == sim::OpKind::gate;
  if (is_flag && !token.sync) {
    const int id = op != nullptr ? op->id & 15 : core.blocked.id & 15;
    FlagState& flag = flags_[core.index][id];
    if (flag.consumer_lane >= 0 && flag.consumer_lane != lane) {
      confluence_.doubt(cat("C1: flag ", id, " of a ", core.vector ? "vector" : "cube",
                            " core is taken by several queues"));
    }
    flag.consumer_lane = lane;
    flag.waits.emplace_back(lane, op != nullptr ? taker.epoch + 1 : taker.epoch);
  }
  if (--state.shares == 0) tokens_.erase(found);
}

void HappensBefore::merge(sim::Token& whole, const sim::Token& part) {
  const auto found = tokens_.find(part.id);
  TokenState& state = tokens_[whole.id];
  state.merged = true;
  state.shares = whole.shares;
  state.published = join(state.published, found->second.clock.publish(found->second.epoch));
  tokens_.erase(part.id);
}

void HappensBefore::idle(sim::SimCore& core) {
  CoreState& state = cores_[core.index];
  for (int lane = 1; lane < sim::kLanes; ++lane) {
    state.scalar().join_same(state.lanes[lane].ended);
  }
  state.advance_scalar();
}

void HappensBefore::drained(sim::SimCore& core, sim::SimChannel& channel) {
  const int index = core.channels.at(channel.peer);
  ChannelState& state = channel_state(index);
  CoreState& taker = cores_[core.index];
  if (machine_->program().profile.drain_is_remote) {
    taker.scalar().join_other(state.clock.publish(state.epoch));
  } else {
    Clock local = state.clock;
    local.set_own(kWriteEnd, 0);
    taker.scalar().join_other(local.publish());
  }
  taker.advance_scalar();
}

void HappensBefore::hash_op(const sim::Op& op, const Clock& clock, std::uint32_t epoch) {
  if (hash_ == Hash::off) return;
  std::uint64_t hash = mix(static_cast<std::uint64_t>(op.core) * 8 + static_cast<int>(op.lane));
  const int peer = op.channel >= 0 ? machine_->channels()[op.channel]->peer : -1;
  hash = mix(hash ^ static_cast<std::uint64_t>(peer + 1) << 32 ^ epoch);
  hash = mix(hash ^ static_cast<std::uint64_t>(op.kind) << 8);
  hash = mix(hash ^ clock.digest());
  relation_hash_ += hash;  // addition: the order of the run does not matter
}

std::size_t HappensBefore::shadow_segments() const {
  std::size_t count = 0;
  for (const auto& buffer : shadows_) count += buffer ? buffer->segment_count() : 0;
  return count;
}

}  // namespace tandem::check
