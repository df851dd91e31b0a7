// SPDX-License-Identifier: Apache-2.0
#include "plan/comm_plan.h"

#include <algorithm>

#include "base/checked.h"
#include "plan/partition.h"

namespace tandem {
namespace {

// Index of source `s` among the remote ranks of `owner`: a ring slot has no room for the owner.
int remote_index(int s, int owner) { return s > owner ? s - 1 : s; }

std::int64_t slice_rows_max(const CommPlan& plan) {
  std::int64_t rows = 0;
  for (const Slice& slice : plan.slices) rows = std::max(rows, slice.count);
  return rows;
}

}  // namespace

int window_parts(const CommPlan& plan) {
  if (plan.slots == 0) return plan.ranks;
  switch (plan.hook) {
    case Hook::all_to_all_get:
      return plan.ranks;
    case Hook::all_gather_get:
      return 1;
    case Hook::all_to_all_put:
    case Hook::all_gather_put:
      return plan.ranks - 1;
  }
  return 0;
}

std::string_view to_string(Hook hook) {
  switch (hook) {
    case Hook::all_to_all_put:
      return "all-to-all-put";
    case Hook::all_to_all_get:
      return "all-to-all-get";
    case Hook::all_gather_put:
      return "all-gather-put";
    case Hook::all_gather_get:
      return "all-gather-get";
  }
  return "?";
}

Slice CommPlan::rows(int destination, int round) const {
  const Slice& slice = slices[round];
  const std::int64_t end = std::min(slice.end(), chunk_rows[destination]);
  return {slice.first, std::max<std::int64_t>(0, end - slice.first)};
}

View local_view(const CommPlan& plan, int self, int peer, int round) {
  const int source = is_put(plan.hook) ? self : peer;
  const int destination = is_put(plan.hook) ? peer : self;
  const Slice rows = plan.rows(destination, round);
  const std::int64_t pitch = plan.local_pitch[self];
  return {.rank = self,
          .buffer = plan.local,
          .offset = (plan.local_row[peer] + rows.first) * pitch + plan.local_column[peer],
          .rows = rows.count,
          .row_bytes = plan.row_bytes[source],
          .pitch = pitch};
}

View window_view(const CommPlan& plan, int owner, int other, int round) {
  const int source = is_put(plan.hook) ? other : owner;
  const int destination = is_put(plan.hook) ? owner : other;
  const Slice rows = plan.rows(destination, round);
  const std::int64_t row_bytes = plan.row_bytes[source];
  std::int64_t offset = 0;
  if (plan.slots == 0) {
    offset = other * plan.part_bytes + rows.first * row_bytes;
  } else {
    const int part = plan.hook == Hook::all_gather_get   ? 0
                     : plan.hook == Hook::all_to_all_get ? other
                                                         : remote_index(other, owner);
    offset = (static_cast<std::int64_t>(round % plan.slots) * window_parts(plan) + part) *
             plan.part_bytes;
  }
  return {.rank = owner,
          .buffer = plan.window,
          .offset = offset,
          .rows = rows.count,
          .row_bytes = row_bytes,
          .pitch = row_bytes};
}

void lay_out_window(CommPlan& plan) {
  const std::int64_t row_bytes = std::ranges::max(plan.row_bytes);
  const std::int64_t rows =
      plan.slots == 0 ? std::ranges::max(plan.chunk_rows) : slice_rows_max(plan);
  const std::int64_t parts = std::max<std::int64_t>(1, plan.slots) * window_parts(plan);
  plan.part_bytes = multiply({rows, row_bytes});
  plan.window_bytes = multiply({parts, plan.part_bytes});
}

Slice targets_of_job(int ranks, int jobs, int job) { return split_evenly(ranks, jobs, job); }

}  // namespace tandem
