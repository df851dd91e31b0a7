// SPDX-License-Identifier: Apache-2.0
// Operations of a timed run in service: when they begin, how long they last, what their ends do.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "sim/entities.h"
#include "sim/timed.h"

namespace tandem::sim {
namespace {

constexpr std::uint64_t kNobody = (std::uint64_t{1} << 62);  // waits for a write-back

bool moves_or_computes(OpKind kind) {
  return kind == OpKind::store_c || kind == OpKind::load_ub || kind == OpKind::store_ub ||
         kind == OpKind::accumulate || kind == OpKind::convert;
}

Picoseconds part_of(Picoseconds time, double part) {
  return static_cast<Picoseconds>(std::ceil(static_cast<double>(time) * part));
}

}  // namespace

std::uint64_t TimedRun::new_job(const Job& job) {
  if (free_jobs_.empty()) {
    jobs_.push_back(job);
    flying_.emplace_back();
    return jobs_.size() - 1;
  }
  const std::uint64_t index = free_jobs_.back();
  free_jobs_.pop_back();
  jobs_[index] = job;
  return index;
}

std::int64_t TimedRun::add_slice(int track, const Op& op, const Origin& origin, Picoseconds begin) {
  timeline_.slices.push_back({.track = track,
                              .name = to_string(op.kind),
                              .begin = begin,
                              .end = begin,
                              .site = op.site,
                              .by = origin.slice,
                              .cause = origin.cause,
                              .released = origin.time});
  return static_cast<std::int64_t>(timeline_.slices.size()) - 1;
}

void TimedRun::count(const SimCore& core, const Op& op) {
  TimelineRank& totals = timeline_.ranks[core.rank];
  if (op.kind == OpKind::multiply) ++totals.products;
  if (op.kind == OpKind::store_c) {
    for (const View& view : op.c) totals.fix_bytes += view.bytes();
  }
  const bool sets =
      op.kind == OpKind::set_flag || op.kind == OpKind::set_event || op.kind == OpKind::set_sync;
  if (sets && core.vector) ++totals.syncs;
}

void TimedRun::begin_pipe(SimCore& core, int lane) {
  PipeQueue& pipe = core.pipes[lane];
  LaneState& state = cores_[core.index].lanes[lane];
  while (machine_->head_ready(core, lane)) {
    Op& op = *pipe.ops.front();
    pipe.active = true;
    taken_ = {};
    machine_->begin_op(op);
    const Origin origin = origin_of_pipe(core, lane, op);
    if (!pipe.streaming) record_pipe_wait(state.track, state.last, op, origin);
    op.slice = add_slice(state.track, op, origin, now_);
    count(core, op);
    serve(core, op, {.core = core.index, .part = lane, .slice = op.slice, .begin = now_});
    if (pipe.active) return;
  }
}

void TimedRun::serve(SimCore& core, Op& op, Job job) {
  if (op.kind == OpKind::load_l1) {
    serve_load(core, op, job);
  } else if (op.kind == OpKind::stage_l0) {
    serve_stage(core, op, job);
  } else if (op.kind == OpKind::multiply) {
    serve_product(core, job);
  } else if (moves_or_computes(op.kind)) {
    begin_job(core, job, cost_.pipe(op, core.rank));
  } else {
    end_pipe(core, job.part, false);
  }
}

void TimedRun::begin_job(SimCore& core, const Job& job, const Service& service) {
  if (workers_) return begin_work(core, job, service.time, Share::whole);
  const std::uint64_t index = new_job(job);
  jobs_[index].time = service.time;
  if (service.write_back >= 0) flows_.start(service.write_back, service.bytes, kNobody, now_);
  if (service.flow >= 0) {
    flows_.start(service.flow, service.bytes, index, now_);
  } else if (service.time > 0) {
    plan({.kind = Event::Kind::job, .item = index}, service.time);
  } else {
    job_done(index);
  }
}

void TimedRun::begin_work(SimCore& core, const Job& job, Picoseconds time, Share share) {
  CoreState& state = cores_[core.index];
  time += state.owed;
  state.owed = 0;
  const std::uint64_t index = new_job(job);
  if (time == 0) return job_done(index);
  workers_->ask(core.rank, core.block,
                {.job = index,
                 .core = core.index,
                 .vector = core.vector,
                 .share = share,
                 .left = time,
                 .asked = now_});
}

void TimedRun::dispatch() {
  const auto decode = [this](const Work& work) { return decode_by_worker(work); };
  for (const Work& work : workers_->dispatch(now_, decode)) {
    const Job& job = jobs_[work.job];
    TimelineSlice& slice = timeline_.slices[job.slice];
    slice.begin = now_;
    if (now_ == work.asked) continue;
    const SimCore& core = *machine_->cores_[work.core];
    slice.by = worked_[workers_->index_of(core.rank, core.block)];
    slice.cause = Cause::worker;
    slice.released = now_;
    timeline_.waits.push_back({slice.track, Cause::worker, work.asked, now_, slice.site, slice.by});
  }
}

void TimedRun::bytes_moved(std::uint64_t user) {
  ++timeline_.events;
  if (user == kNobody) return;
  if (workers_ && Workers::is_piece(user)) {
    Work work;
    const std::uint64_t worker = Workers::worker_of(user);
    if (!workers_->piece_done(worker, work)) return;
    worked_[worker] = jobs_[work.job].slice;
    job_done(work.job);
    return;
  }
  const Job& job = jobs_[user];
  if (job.time > 0) {
    plan({.kind = Event::Kind::job, .item = user}, job.time);
  } else {
    job_done(user);
  }
}

void TimedRun::job_done(std::uint64_t index) {
  const Job job = jobs_[index];
  if (job.kind != Job::Kind::transfer) free_jobs_.push_back(index);
  switch (job.kind) {
    case Job::Kind::pipe:
      return end_pipe(*machine_->cores_[job.core], job.part, false);
    case Job::Kind::head: {
      SimCore& core = *machine_->cores_[job.core];
      if (job.rest > 0) {
        core.pipes[job.part].streaming = true;
        Job rest = job;
        rest.kind = Job::Kind::rest;
        rest.time = 0;
        flows_.start(job.flow, job.rest, new_job(rest), now_);
      }
      end_pipe(core, job.part, false);
      if (job.rest == 0) load_done(job.load);
      return;
    }
    case Job::Kind::rest:
      return end_rest(job);
    case Job::Kind::stage:
      return end_pipe(*machine_->cores_[job.core], job.part, true);
    case Job::Kind::product:
      return end_product(job);
    case Job::Kind::transfer:
      return end_transfer(index);
  }
}

// The product may begin when the first half of L1 is full; the rest streams in behind it.
void TimedRun::serve_load(SimCore& core, Op& op, Job job) {
  LoadState load;
  load.shape = shape_of(op);
  load.head = cost_.head_of(load.shape);
  load.slice = job.slice;
  if (workers_) {
    for (const Fragment& fragment : op.a) load.rows.push_back(fragment.data);
    load.weights = cost_.workers().weights(op, load.shape, core.rank);
  }
  job.kind = Job::Kind::head;
  job.load = static_cast<std::int64_t>(loads_.size());
  loads_.push_back(std::move(load));
  cores_[core.index].slots[op.id] = job.load;
  const LoadState& kept = loads_.back();
  timeline_.slices[job.slice].bytes = kept.shape.bytes();
  Service service = cost_.load(op, kept.shape, core.rank, timeline_.ranks[core.rank]);
  if (service.flow >= 0) {
    job.flow = service.flow;
    job.rest = std::floor(service.bytes * (1 - kept.head));
    service.bytes -= job.rest;
  }
  begin_job(core, job, service);
}

void TimedRun::serve_stage(SimCore& core, const Op& op, Job job) {
  job.kind = Job::Kind::stage;
  job.load = cores_[core.index].slots[op.id];
  LoadState& load = loads_[job.load];
  const Picoseconds time = cost_.stage(load.shape);
  job.time = time;
  const std::uint64_t index = new_job(job);
  const Picoseconds ready = part_of(time, load.head);
  if (ready > 0) {
    plan({.kind = Event::Kind::stage_ready, .target = core.index}, ready);
  } else {
    stage_ready(core);
  }
  if (!load.done) {
    load.followers.push_back(index);
  } else if (time > 0) {
    plan({.kind = Event::Kind::job, .item = index}, time);
  } else {
    job_done(index);
  }
}

void TimedRun::stage_ready(SimCore& core) {
  Op& op = *core.pipes[static_cast<int>(Lane::mte1)].ops.front();
  cores_[core.index].staged.push_back(cores_[core.index].slots[op.id]);
  machine_->end_op(op);
}

void TimedRun::serve_product(SimCore& core, Job job) {
  CoreState& state = cores_[core.index];
  job.kind = Job::Kind::product;
  job.load = state.staged.front();
  state.staged.pop_front();
  LoadState& load = loads_[job.load];
  if (workers_) return begin_work(core, job, product_by_worker(core, load), Share::pauses);
  const Picoseconds time = cost_.product(load.shape);
  job.time = time;
  const std::uint64_t index = new_job(job);
  if (!load.done) {
    load.followers.push_back(index);
    return;
  }
  if (time > 0) {
    plan({.kind = Event::Kind::job, .item = index}, time);
  } else {
    job_done(index);
  }
}

Picoseconds TimedRun::product_by_worker(const SimCore& core, const LoadState& load) {
  if (cost_.is_free(false)) return 0;
  const SumOrder order = machine_->program_.ranks[core.rank].launch.numerics.order;
  return cost_.workers().product(load.shape, order) + load.weights;
}

// A worker keeps the rows of A that it decoded last, as long as the same core asks for them.
Picoseconds TimedRun::decode_by_worker(const Work& work) {
  const Job& job = jobs_[work.job];
  if (job.kind != Job::Kind::product || cost_.is_free(false)) return 0;
  const SimCore& core = *machine_->cores_[work.core];
  const LoadState& load = loads_[job.load];
  DecodedRows& decoded = decoded_[workers_->index_of(core.rank, core.block)];
  if (decoded.owner == core.index && decoded.rows == load.rows) return 0;
  decoded = {core.index, load.rows};
  return cost_.workers().decode(load.rows);
}

// Whoever reads the load as it comes in needs its time, and the last part's after the last byte.
void TimedRun::load_done(std::int64_t index) {
  LoadState& load = loads_[index];
  load.done = true;
  load.done_at = now_;
  for (std::uint64_t follower : load.followers) {
    const Job& job = jobs_[follower];
    const Picoseconds end = std::max(job.begin + job.time, now_ + part_of(job.time, load.head));
    plan({.kind = Event::Kind::job, .item = follower}, end - now_);
  }
  load.followers.clear();
}

void TimedRun::end_rest(const Job& job) {
  SimCore& core = *machine_->cores_[job.core];
  core.pipes[job.part].streaming = false;
  TimelineSlice& slice = timeline_.slices[job.slice];
  slice.end = now_;
  slice.work = slice.end - slice.begin;
  cores_[job.core].lanes[job.part].last = {job.slice, Cause::pipe, now_};
  load_done(job.load);
  machine_->touch(core.index * kLaneSlots);
  machine_->touch(core.index * kLaneSlots + job.part);
  if (core.finished && machine_->running_[core.rank] == 0) machine_->end_launch(core.rank);
}

void TimedRun::end_product(const Job& job) {
  end_pipe(*machine_->cores_[job.core], job.part, false);
  if (workers_) return;
  TimelineSlice& slice = timeline_.slices[job.slice];
  slice.work = job.time;
  const LoadState& load = loads_[job.load];
  const Picoseconds stood = now_ - job.begin - job.time;
  if (stood <= 0) return;
  slice.by = load.slice;
  slice.cause = Cause::data;
  slice.released = load.done_at;
  timeline_.waits.push_back(
      {slice.track, Cause::data, load.done_at - stood, load.done_at, slice.site, load.slice});
}

void TimedRun::end_pipe(SimCore& core, int lane, bool has_ended) {
  PipeQueue& pipe = core.pipes[lane];
  Op& op = *pipe.ops.front();
  if (!has_ended) machine_->end_op(op);
  TimelineSlice& slice = timeline_.slices[op.slice];
  slice.end = now_;
  slice.work = slice.end - slice.begin;
  cores_[core.index].lanes[lane].last = {op.slice, Cause::pipe, now_};
  machine_->spare_.push_back(std::move(pipe.ops.front()));
  pipe.ops.pop_front();
  pipe.active = false;
  machine_->touch(core.index * kLaneSlots);
  machine_->touch(core.index * kLaneSlots + lane);
  if (core.finished && machine_->running_[core.rank] == 0) machine_->end_launch(core.rank);
}

}  // namespace tandem::sim
