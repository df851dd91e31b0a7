// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/strings.h"
#include "mx/matrix.h"
#include "plan/builder.h"
#include "plan/partition.h"

namespace tandem {
namespace {

// Planning keeps every round in memory, so their count has an end.
constexpr std::int64_t kRoundsMax = std::int64_t{1} << 20;

bool check_count(PlanBuilder& builder, std::int64_t rounds) {
  if (rounds <= kRoundsMax) return true;
  builder.refuse(cat(rounds, " rounds are more than ", kRoundsMax),
                 "use fewer --tiles or more --tile-rows");
  return false;
}

// Slices of at least 32 rows: each round reads the weights again.
constexpr std::int64_t kSliceRows = 32;
constexpr std::int64_t kMemoryRounds = 4;
constexpr std::int64_t kLinkRounds = 64;
// Of the link, in each round: a flush and its answer, a request and a barrier word.
constexpr int kLatenciesPerRound = 4;

// What a rank multiplies and what it sends, in microseconds, each alone. 0: not known.
struct Halves {
  double products = 0;
  double transfers = 0;
};

Halves halves_of(const Plan& plan) {
  const Problem& problem = plan.problem;
  const DeviceCosts& costs = plan.device.costs;
  const auto m = static_cast<double>(problem.m), n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.k);
  const double ranks = plan.ranks;
  const double codes = 1 + 1.0 / static_cast<double>(kGroup);  // bytes of one, with its scale
  double products = m * n * k;
  double sent = 0;
  switch (problem.op) {
    case OperatorKind::all_to_all_matmul:
      sent = (ranks - 1) * m * k / ranks * codes;
      break;
    case OperatorKind::all_gather_matmul:
      products *= ranks;
      sent = (ranks - 1) * m * k * codes;
      break;
    case OperatorKind::matmul_all_gather:
      products /= ranks;
      sent = (ranks - 1) * m * n / ranks * static_cast<double>(element_bytes(problem.dtype_c));
      break;
    case OperatorKind::matmul_reduce_scatter:
      sent = (ranks - 1) * m / ranks * n * static_cast<double>(element_bytes(problem.staging));
      break;
  }
  const auto step = static_cast<double>(costs.cube_m * costs.cube_n * costs.cube_k);
  const double per_us = step * static_cast<double>(costs.steps_per_kcycle * costs.clock_mhz) /
                        1000 * std::max(1, plan.device.cores);
  return {per_us > 0 ? products / per_us : 0, sent / static_cast<double>(costs.link_mb_s)};
}

// One round of the shorter half cannot be hidden, and each round costs latencies of the link:
// shorter / T + T · latencies is least at the root. See docs/decisions/0013.
std::int64_t rounds_over_a_link(PlanBuilder& builder, std::int64_t most) {
  const Halves halves = halves_of(builder.plan);
  const double shorter =
      halves.products > 0 ? std::min(halves.products, halves.transfers) : halves.transfers;
  const double latency = static_cast<double>(builder.device().costs.link_latency_ns) / 1000;
  const double best = std::sqrt(shorter / (kLatenciesPerRound * latency));
  const auto rounds = std::clamp<std::int64_t>(std::llround(best), 1, std::min(most, kLinkRounds));
  const auto whole = [](double us) { return std::llround(us); };
  builder.note(cat("rounds: ", rounds, ", for transfers of ", whole(halves.transfers),
                   " us beside products of about ", whole(halves.products), " us, over a link of ",
                   builder.device().costs.link_mb_s, " MB/s and ", whole(latency), " us"));
  return rounds;
}

// In memory any count up to 32 takes the same time. A link has a latency.
std::int64_t default_rounds(PlanBuilder& builder, std::int64_t rows) {
  const std::int64_t most = std::max<std::int64_t>(1, rows / kSliceRows);
  const DeviceCosts& costs = builder.device().costs;
  const bool over_a_link = costs.link_latency_ns > 0 && costs.link_mb_s > 0;
  if (over_a_link && builder.plan.ranks > 1) return rounds_over_a_link(builder, most);
  return std::min(most, kMemoryRounds);
}

void make_balanced(PlanBuilder& builder, std::int64_t rows) {
  const Problem& problem = builder.problem();
  if (builder.plan.has_a_in_window()) {
    if (problem.tiles || problem.tile_rows) {
      builder.note("one round: with --transfer direct the peers' rows are there at once");
    }
    builder.plan.slices.push_back({0, rows});
    return;
  }
  const std::int64_t asked = problem.tile_rows ? ceil_div(rows, *problem.tile_rows) : 0;
  std::int64_t rounds = problem.tiles ? *problem.tiles : asked;
  if (rounds == 0) rounds = default_rounds(builder, rows);
  if (rounds > rows) {
    if (problem.tiles) builder.note(cat("--tiles ", rounds, " clamped to the ", rows, " rows"));
    rounds = rows;
  }
  if (problem.tile_rows && ceil_div(rows, rounds) != *problem.tile_rows) {
    builder.note(cat("--tile-rows ", *problem.tile_rows, " became ", ceil_div(rows, rounds),
                     ": slices of this device are balanced"));
  }
  if (problem.tail != Problem{}.tail) {
    builder.note(cat("--tail ", to_string(problem.tail),
                     " has no effect: slices of this device are balanced"));
  }
  if (!check_count(builder, rounds)) return;
  for (std::int64_t round = 0; round < rounds; ++round) {
    builder.plan.slices.push_back(split_evenly(rows, rounds, round));
  }
}

// Largest slice ≤ target whose count divides the rows and that is a multiple of 16; all rows in
// one slice where there is none (a prime count of rows, say).
std::int64_t dividing_rows(std::int64_t rows, std::int64_t target) {
  const std::int64_t first = std::max<std::int64_t>(1, ceil_div(rows, target));
  for (std::int64_t rounds = first; rounds <= ceil_div(rows, 16); ++rounds) {
    if (rows % rounds == 0 && rows / rounds % 16 == 0) return rows / rounds;
  }
  return rows;
}

void check_tail(PlanBuilder& builder, std::int64_t rows, std::int64_t head, TailUse use) {
  const std::int64_t tail = rows % head;
  const std::int64_t multiple = builder.device().rules.tail_rows_multiple;
  if (tail == 0 || multiple == 0 || use == TailUse::any_rows) return;
  const bool can_pad = use == TailUse::padded_rows;
  if (can_pad && builder.problem().tail == TailStrategy::pad) return;
  if (tail % multiple != 0) {
    builder.refuse(
        cat("slices of ", head, " of ", rows, " rows leave a tail of ", tail,
            ", not a multiple of ", multiple),
        cat("use ", can_pad ? "--tail pad, " : "", "--tail divide or another --tile-rows"));
  }
}

void make_heads_and_tail(PlanBuilder& builder, std::int64_t rows, std::int64_t head_rows,
                         TailUse use) {
  const Problem& problem = builder.problem();
  std::int64_t head = head_rows;
  if (problem.tile_rows) head = *problem.tile_rows;
  if (problem.tiles) head = round_up(ceil_div(rows, std::min(*problem.tiles, rows)), 16);
  if (problem.tail == TailStrategy::divide) head = dividing_rows(rows, head);
  if (head > rows) {
    if (problem.tile_rows)
      builder.note(cat("--tile-rows ", head, " clamped to the ", rows, " rows"));
    head = rows;
  }
  check_tail(builder, rows, head, use);
  if (!check_count(builder, ceil_div(rows, head))) return;
  for (std::int64_t first = 0; first < rows; first += head) {
    builder.plan.slices.push_back({first, std::min(head, rows - first)});
  }
  if (problem.tiles && builder.plan.rounds() != *problem.tiles) {
    builder.note(cat("--tiles ", *problem.tiles, " became ", builder.plan.rounds(),
                     " rounds: slices are multiples of 16 rows"));
  }
  if (problem.tail != TailStrategy::pad) return;
  if (use == TailUse::padded_rows) {
    builder.plan.padded_rows = 32;
  } else {
    builder.note("--tail pad is as single here: no fragment of a tail can be padded on request");
  }
}

}  // namespace

void make_rounds(PlanBuilder& builder, std::int64_t rows, std::int64_t head_rows, TailUse use) {
  if (rows == 0) return;
  if (builder.device().rounds == RoundsRule::balanced) {
    make_balanced(builder, rows);
  } else {
    make_heads_and_tail(builder, rows, std::clamp<std::int64_t>(head_rows, 1, rows), use);
  }
}

void make_slots(PlanBuilder& builder) {
  Plan& plan = builder.plan;
  const int rounds = plan.rounds();
  const int depth = plan.device.flag_depth;
  plan.slots = plan.problem.slots;
  if (plan.slots == 0 || plan.slots >= rounds) {
    plan.slots = rounds;
  } else if (plan.slots > depth) {
    builder.note(
        cat("--slots ", plan.slots, " clamped to ", depth, ": no producer runs further ahead"));
    plan.slots = depth;
  }
}

}  // namespace tandem
