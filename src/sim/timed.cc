// SPDX-License-Identifier: Apache-2.0
#include "sim/timed.h"

#include <algorithm>

#include "base/check.h"
#include "sim/entities.h"

namespace tandem::sim {

TimedRun::TimedRun(Program program, const Device& device, TimedOptions options)
    : options_(std::move(options)),
      machine_(std::make_unique<Machine>(std::move(program), std::vector<Observer*>{this})),
      cost_(device, machine_->ranks(), options_.free, flows_) {
  machine_->timed_ = this;
  if (device.shared_workers) {
    const DeviceCosts& costs = device.costs;
    const int workers = std::max(options_.workers, 1);
    workers_ = std::make_unique<Workers>(machine_->ranks(), workers, costs.processors,
                                         costs.pause_ns * 1000, flows_);
    worked_.assign(machine_->ranks() * workers, -1);
    decoded_.resize(machine_->ranks() * workers);
  }
  timeline_.ranks.resize(machine_->ranks());
  words_.resize(machine_->ranks() * 2 * kRanksMax);
  cores_.resize(machine_->cores().size());
  for (const auto& core : machine_->cores()) {
    for (int lane = 0; lane < kLanes; ++lane) {
      cores_[core->index].lanes[lane].track = static_cast<int>(timeline_.tracks.size());
      timeline_.tracks.push_back({.rank = core->rank,
                                  .block = core->block,
                                  .cube = !core->vector,
                                  .pipe = to_string(static_cast<Lane>(lane))});
    }
  }
}

TimedRun::~TimedRun() = default;

Timeline TimedRun::run() {
  for (int rank = 0; rank < machine_->ranks(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    Picoseconds late = index < options_.late_start.size() ? options_.late_start[index] : 0;
    late += cost_.costs().launch_ns * 1000;
    // The other workers are woken.
    if (workers_ && workers_->per_rank() > 1) late += cost_.costs().sync_all_ns * 1000;
    plan({.kind = Event::Kind::launch, .target = rank}, late);
  }
  while (true) {
    drain_ready();
    if (workers_) dispatch();
    const Picoseconds moved = flows_.next(now_);
    if (options_.samples) sample();
    const Picoseconds next = std::min(moved, events_.empty() ? kNever : events_.top().time);
    if (next == kNever) break;
    now_ = next;
    if (moved == now_) {
      moved_.clear();
      flows_.finish(now_, moved_);
      for (std::uint64_t user : moved_) bytes_moved(user);
    }
    while (!events_.empty() && events_.top().time == now_) {
      const Event event = events_.top();
      events_.pop();
      handle(event);
    }
  }
  timeline_.finished = std::ranges::all_of(
      machine_->launch_, [&](int launch) { return launch == machine_->program_.launches; });
  for (const TimelineRank& rank : timeline_.ranks) {
    timeline_.makespan = std::max(timeline_.makespan, rank.end);
  }
  timeline_.resources = cost_.resources();
  return std::move(timeline_);
}

void TimedRun::plan(Event event, Picoseconds delay) {
  event.time = now_ + delay;
  event.order = order_++;
  events_.push(event);
}

void TimedRun::drain_ready() {
  Machine& machine = *machine_;
  while (!machine.queue_.empty()) {
    const int entity = machine.queue_.front();
    machine.queue_.pop_front();
    machine.place_[entity] = 0;
    if (!machine.enabled(entity)) continue;
    ++machine.steps_;
    step(entity);
  }
}

void TimedRun::step(int entity) {
  const int in_cores = static_cast<int>(cores_.size()) * kLaneSlots;
  if (entity >= in_cores) {
    const int extra = machine_->extra_entities_[entity - in_cores];
    if (extra >= 0) {
      begin_channel(extra);
    } else {
      run_wire(-1 - extra);
    }
    return;
  }
  SimCore& core = *machine_->cores_[entity / kLaneSlots];
  const int lane = entity % kLaneSlots;
  if (lane == 0) {
    run_scalar(core);
  } else {
    begin_pipe(core, lane);
  }
}

void TimedRun::handle(const Event& event) {
  ++timeline_.events;
  switch (event.kind) {
    case Event::Kind::wake:
      machine_->touch(event.target * kLaneSlots);
      return;
    case Event::Kind::job:
      job_done(event.item);
      return;
    case Event::Kind::stage_ready:
      stage_ready(*machine_->cores_[event.target]);
      return;
    case Event::Kind::flag:
    case Event::Kind::event: {
      const Token token = tokens_in_flight_[event.token];
      free_tokens_.push_back(event.token);
      delivering_ = true;
      SimCore& core = *machine_->cores_[event.target];
      if (event.kind == Event::Kind::flag) {
        machine_->deliver_flag(core, static_cast<int>(event.item), token);
      } else {
        machine_->deliver_event(core, static_cast<int>(event.item), token);
      }
      delivering_ = false;
      return;
    }
    case Event::Kind::epoch:
      --wires_[event.target];
      machine_->run_wire(*machine_->wires_[event.target]);
      return;
    case Event::Kind::arrival:
      arrive(event.item);
      return;
    case Event::Kind::launch:
      machine_->start_launch(event.target);
      return;
  }
}

void TimedRun::sample() {
  rates_.resize(flows_.resource_count(), 0);
  for (int resource = 0; resource < flows_.resource_count(); ++resource) {
    const double rate = flows_.active() > 0 ? flows_.rate_through(resource) : 0;
    if (rate == rates_[resource]) continue;
    rates_[resource] = rate;
    timeline_.samples.push_back({resource, now_, rate});
  }
}

// Time on a worker, for the scalar stream too, so that it is paid with the core's next work.
void TimedRun::spend(SimCore& core, std::int64_t nanoseconds) {
  const Picoseconds time = cost_.time(nanoseconds, core.vector);
  if (time == 0) return;
  if (workers_) {
    cores_[core.index].owed += time;
    return;
  }
  plan({.kind = Event::Kind::wake, .target = core.index}, time);
  machine_->block(core, {.kind = Blocked::Kind::time,
                         .id = 0,
                         .slot = {},
                         .value = static_cast<std::uint64_t>(now_ + time),
                         .site = {}});
}

void TimedRun::work(SimCore& core, ScalarWork work) {
  const DeviceCosts& costs = cost_.costs();
  switch (work) {
    case ScalarWork::product_parameters:
      ++timeline_.ranks[core.rank].parameter_builds;
      return spend(core, costs.parameters_ns);
    case ScalarWork::fragment_list:
      return spend(core, costs.fragments_ns);
  }
}

void TimedRun::issued(SimCore& core, Op& op) {
  op.issue_time = static_cast<std::uint64_t>(now_);
  op.slice = cores_[core.index].scalar;
}

// With shared workers a call returns when its work is done.
void TimedRun::queued(SimCore& core) {
  if (!workers_) return;
  machine_->block(
      core,
      {.kind = Blocked::Kind::idle, .id = 0, .slot = {}, .value = 0, .site = core.blocked.site});
}

void TimedRun::posted(SimCore& core, int channel) {
  if (!workers_) return;
  machine_->block(core, {.kind = Blocked::Kind::drain,
                         .id = channel,
                         .slot = {},
                         .value = machine_->channels_[channel]->posted,
                         .site = core.blocked.site});
}

void TimedRun::begin_wait(SimCore& core, bool over) {
  if (over || core.blocked.kind == Blocked::Kind::time) return;
  CoreState& state = cores_[core.index];
  close_scalar(core);
  state.waiting = true;
  state.wait_begin = now_;
}

void TimedRun::end_wait(SimCore& core) {
  CoreState& state = cores_[core.index];
  if (core.blocked.kind == Blocked::Kind::time || !state.waiting) return;
  state.waiting = false;
  const Origin origin = origin_of_wait(core);
  const int track = state.lanes[0].track;
  if (now_ > state.wait_begin) {
    timeline_.waits.push_back(
        {track, origin.cause, state.wait_begin, now_, core.blocked.site, origin.slice});
  }
  state.scalar = static_cast<std::int64_t>(timeline_.slices.size());
  timeline_.slices.push_back({.track = track,
                              .name = "scalar",
                              .begin = now_,
                              .end = now_,
                              .site = core.blocked.site,
                              .by = origin.slice,
                              .cause = origin.cause,
                              .released = origin.time});
}

void TimedRun::run_scalar(SimCore& core) {
  CoreState& state = cores_[core.index];
  if (state.scalar < 0 && !state.waiting) {
    state.scalar = static_cast<std::int64_t>(timeline_.slices.size());
    timeline_.slices.push_back({.track = state.lanes[0].track,
                                .name = "scalar",
                                .begin = now_,
                                .end = now_,
                                .by = state.lanes[0].last.slice,
                                .cause = Cause::start,
                                .released = now_});
  }
  const int launch = machine_->launch_[core.rank];
  machine_->run_fiber(core);
  // A launch that ended may have started the next one, for which this core has not run yet.
  if (core.finished || machine_->launch_[core.rank] != launch) close_scalar(core);
}

void TimedRun::close_scalar(SimCore& core) {
  CoreState& state = cores_[core.index];
  if (state.scalar < 0) return;
  TimelineSlice& slice = timeline_.slices[state.scalar];
  slice.end = now_;
  slice.work = slice.end - slice.begin;
  state.lanes[0].last = {state.scalar, Cause::pipe, now_};
  state.scalar = -1;
}

void TimedRun::run_wire(int index) {
  wires_.resize(machine_->wires_.size(), 0);
  Wire& wire = *machine_->wires_[index];
  const SimCore& core = *machine_->cores_[wire.core];
  const bool own = wire.peer == core.rank;
  const std::int64_t latency = own ? cost_.costs().epoch_own_ns : cost_.costs().epoch_ns;
  for (; wires_[index] < wire.stores.size(); ++wires_[index]) {
    plan({.kind = Event::Kind::epoch, .target = index}, cost_.time(latency, true));
  }
}

void TimedRun::launch_ends(int rank, int) { timeline_.ranks[rank].end = now_; }

std::uint32_t TimedRun::keep(const Token& token) {
  if (free_tokens_.empty()) {
    tokens_in_flight_.push_back(token);
    return static_cast<std::uint32_t>(tokens_in_flight_.size() - 1);
  }
  const std::uint32_t index = free_tokens_.back();
  free_tokens_.pop_back();
  tokens_in_flight_[index] = token;
  return index;
}

bool TimedRun::postpones_flag(SimCore& to, int id, const Token& token) {
  if (delivering_) return false;
  const SimCore& from = *machine_->cores_[token.core];
  const DeviceCosts& costs = cost_.costs();
  // Cores of one worker meet by taking turns.
  const bool meets = token.sync && !(workers_ && workers_->per_rank() == 1);
  const Picoseconds latency = cost_.time(meets ? costs.sync_all_ns : costs.flag_ns, from.vector);
  token_origin(token.id).time = now_ + latency;
  if (latency == 0) return false;
  plan({.kind = Event::Kind::flag,
        .target = to.index,
        .item = static_cast<std::uint64_t>(id),
        .token = keep(token)},
       latency);
  return true;
}

bool TimedRun::postpones_event(SimCore& core, int key, const Token& token) {
  if (delivering_) return false;
  const Picoseconds latency = cost_.time(cost_.costs().event_ns, core.vector);
  token_origin(token.id).time = now_ + latency;
  if (latency == 0) return false;
  plan({.kind = Event::Kind::event,
        .target = core.index,
        .item = static_cast<std::uint64_t>(key),
        .token = keep(token)},
       latency);
  return true;
}

}  // namespace tandem::sim
