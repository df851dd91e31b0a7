// SPDX-License-Identifier: Apache-2.0
#include "check/mutants/tables/rewrites.h"

#include <algorithm>
#include <functional>

namespace tandem::check {
namespace {

VerbRecord call_of(Verb verb, Site site = Site::here()) {
  VerbRecord call;
  call.verb = verb;
  call.site = site;
  return call;
}

VerbRecord store_word(int rank, EpochSlot slot, std::uint64_t value, Site site = Site::here()) {
  VerbRecord call = call_of(Verb::store_epoch, site);
  call.peer = rank;
  call.epoch = slot;
  call.value = value;
  return call;
}

VerbRecord wait_word(EpochSlot slot, std::uint64_t value, Site site = Site::here()) {
  VerbRecord call = call_of(Verb::wait_epoch, site);
  call.epoch = slot;
  call.value = value;
  return call;
}

bool crosses_ranks(const VerbRecord& call) {
  return (call.verb == Verb::store_epoch || call.verb == Verb::wait_epoch) &&
         call.epoch.kind == EpochSlot::Kind::arrived;
}

using ListChange = std::function<void(VerbList&, const CoreRecording&)>;
void for_vector_cores(WorldRecording& world, const ListChange& how) {
  for (RankRecording& rank : world) {
    for (CoreRecording& core : rank) {
      if (core.kind == CoreKind::vector) how(core.verbs, core);
    }
  }
}

// Rebuilds a list call by call; `how` says what takes a call's place.
void rebuild(VerbList& calls, const std::function<void(VerbList& out, const VerbRecord&)>& how) {
  VerbList out;
  for (const VerbRecord& call : calls) how(out, call);
  calls = std::move(out);
}

// What a job does to meet the others: its `count`-th meeting.
void append_meeting(VerbList& out, int rank, int jobs, int job, std::uint64_t count) {
  using Kind = EpochSlot::Kind;
  out.push_back(store_word(rank, {Kind::core, job}, count));
  for (int other = 0; other < jobs; ++other) {
    if (other != job) out.push_back(wait_word({Kind::core, other}, count));
  }
}

}  // namespace

void clear_own_words(WorldRecording& world) {
  for_vector_cores(world, [&](VerbList& calls, const CoreRecording& core) {
    const auto first = std::ranges::find_if(calls, crosses_ranks);
    if (first == calls.end()) return;
    const EpochSlot word{EpochSlot::Kind::arrived, first->peer};
    calls.insert(calls.begin(), store_word(core.rank, word, 0));
  });
}

void reset_words_after_wait(WorldRecording& world) {
  for_vector_cores(world, [](VerbList& calls, const CoreRecording& core) {
    rebuild(calls, [&](VerbList& out, const VerbRecord& call) {
      out.push_back(call);
      if (call.verb == Verb::wait_epoch) out.push_back(store_word(core.rank, call.epoch, 0));
    });
  });
}

// One barrier at the start, then one before each sync_all.
void stride_targets(WorldRecording& world, const Plan& plan) {
  for_vector_cores(world, [&](VerbList& calls, const CoreRecording& core) {
    const int job = plan.job_of(core.block);
    if (job < 0) return;
    std::uint64_t count = 0;
    const auto append_barrier = [&](VerbList& out) {
      ++count;
      for (bool store : {true, false}) {
        for (int peer = job; peer < plan.ranks; peer += plan.jobs) {
          if (peer == core.rank) continue;
          using Kind = EpochSlot::Kind;
          out.push_back(store ? store_word(peer, {Kind::arrived, core.rank}, count)
                              : wait_word({Kind::arrived, peer}, count));
        }
      }
    };
    VerbList start;
    append_barrier(start);
    rebuild(calls, [&](VerbList& out, const VerbRecord& call) {
      if (call.verb == Verb::sync_all) append_barrier(out);
      if (!crosses_ranks(call)) out.push_back(call);
    });
    calls.insert(calls.begin(), start.begin(), start.end());
  });
}

// ceil(R / jobs) targets for the first jobs, what is left for the others.
void meet_once_per_target(WorldRecording& world, const Plan& plan) {
  const int share = (plan.ranks + plan.jobs - 1) / plan.jobs;
  for_vector_cores(world, [&](VerbList& calls, const CoreRecording& core) {
    const int job = plan.job_of(core.block);
    if (job < 0) return;
    const int targets = std::clamp(plan.ranks - job * share, 0, share);
    std::uint64_t count = 0;
    rebuild(calls, [&](VerbList& out, const VerbRecord& call) {
      for (int i = 0; call.verb == Verb::sync_all && i < targets; ++i) {
        append_meeting(out, core.rank, plan.jobs, job, ++count);
      }
      out.push_back(call);
    });
  });
}

void meet_by_words(WorldRecording& world, const Plan& plan) {
  for_vector_cores(world, [&](VerbList& calls, const CoreRecording& core) {
    std::uint64_t count = 0;
    rebuild(calls, [&](VerbList& out, const VerbRecord& call) {
      if (call.verb != Verb::sync_all) {
        out.push_back(call);
      } else {
        append_meeting(out, core.rank, plan.jobs, plan.job_of(core.block), ++count);
      }
    });
  });
}

// The jobs meet between post and notification, so that only the queues are at fault.
void notify_on_other_queue(WorldRecording& world, const Plan& plan) {
  for_vector_cores(world, [&](VerbList& calls, const CoreRecording& core) {
    const int job = plan.job_of(core.block);
    if (core.rank != 0 || job > 1) return;
    std::uint64_t meetings = 0;
    VerbRecord drain = call_of(Verb::drain);
    drain.peer = 1;
    rebuild(calls, [&](VerbList& out, const VerbRecord& call) {
      const bool meets_now =
          job == 1 ? call.verb == Verb::write_nbi && call.views[0].buffer == Buffer::window_data
                   : call.verb == Verb::sync_all;
      if (meets_now && job == 0) {
        append_meeting(out, core.rank, plan.jobs, job, ++meetings);
        VerbRecord tell = store_word(1, {EpochSlot::Kind::arrived, 0}, meetings + 1);
        tell.verb = Verb::write_notify_nbi;
        const View nothing{.rank = 1, .buffer = Buffer::window_data};
        tell.views = {nothing, nothing};
        out.push_back(tell);
        out.push_back(drain);
      }
      const bool is_told = call.verb == Verb::store_epoch && call.value > 1;
      if (call.verb != Verb::drain && !is_told) out.push_back(call);
      if (meets_now && job == 1) append_meeting(out, core.rank, plan.jobs, job, ++meetings);
      if (call.verb == Verb::wait_epoch && call.epoch.kind == EpochSlot::Kind::arrived &&
          call.value > 1) {
        out.push_back(drain);
      }
    });
  });
}

void alternate_windows(WorldRecording& world, const Plan& plan, int launch) {
  for (RankRecording& rank : world) {
    for (CoreRecording& core : rank) {
      std::erase_if(core.verbs,
                    [](const VerbRecord& call) { return crosses_ranks(call) && call.value == 1; });
      for (VerbRecord& call : core.verbs) {
        for (View& view : call.views) {
          if (launch % 2 == 0) continue;
          if (view.buffer == Buffer::window_data) view.offset += plan.comm[0].window_bytes;
          if (view.buffer == Buffer::window_scale) view.offset += plan.comm[1].window_bytes;
        }
      }
    }
  }
}

void read_posted_rows(WorldRecording& world, const Plan& plan) {
  for_vector_cores(world, [&](VerbList& calls, const CoreRecording&) {
    rebuild(calls, [&](VerbList& out, const VerbRecord& call) {
      out.push_back(call);
      if (call.verb != Verb::write_nbi) return;
      VerbRecord wait = call_of(Verb::pipe_barrier);
      wait.pipe = Pipe::mte2;
      out.push_back(wait);
      VerbRecord load = call_of(Verb::load);
      load.views = {call.views[1].slice_rows(0, 1).slice_columns(0, 16)};
      load.tensors = {{plan.reduction.source_offset[0], 1, 8, 16, 2}};
      out.push_back(load);
    });
  });
}

void add_from_two_ranks(WorldRecording& world, const Plan&) {
  for_vector_cores(world, [&](VerbList& calls, const CoreRecording& core) {
    if (core.rank == 0) return;
    int round = 0;
    rebuild(calls, [&](VerbList& out, const VerbRecord& call) {
      out.push_back(call);
      if (call.verb != Verb::write_nbi || call.peer != 0 ||
          call.views[0].buffer != Buffer::window_data) {
        return;
      }
      ++round;
      VerbRecord more = call;
      more.site = Site::here();
      more.verb = round == 1 ? Verb::write_nbi : Verb::write_reduce_nbi;
      // Rank 0's own part of its window: nobody writes it, nobody reads it.
      for (View& view : more.views) view = view.slice_rows(0, 1);
      more.views[0].offset = 0;
      if (round == 2 || core.rank == 1) out.push_back(more);
    });
  });
}

}  // namespace tandem::check
