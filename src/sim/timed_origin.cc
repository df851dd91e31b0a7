// SPDX-License-Identifier: Apache-2.0
// Who waited for whom in a timed run.
#include <algorithm>

#include "sim/timed.h"

namespace tandem::sim {
namespace {

int word_number(int rank, EpochSlot slot) {
  const int first = slot.kind == EpochSlot::Kind::arrived ? 0 : kRanksMax;
  return rank * 2 * kRanksMax + first + slot.index;
}

bool is_sync_flag(int id) { return (id & 15) >= 11 && (id & 15) <= 14; }

}  // namespace

TimedRun::Origin& TimedRun::token_origin(std::uint32_t id) {
  if (tokens_.size() <= id) tokens_.resize(std::max<std::size_t>(id + 1, tokens_.size() * 2));
  return tokens_[id];
}

void TimedRun::set(Op& op, Token& token) {
  const Cause cause = op.kind == OpKind::set_event  ? Cause::event
                      : op.kind == OpKind::stage_l0 ? Cause::data
                      : op.kind == OpKind::set_sync ? Cause::sync_all
                                                    : Cause::flag;
  token_origin(token.id) = {op.slice, cause, now_};
  // A cube core that tells its vector core something lets the worker's others go first.
  const SimCore& core = *machine_->cores_[op.core];
  if (workers_ && op.kind == OpKind::set_flag && !core.vector) {
    workers_->end_turn(core.rank, core.block);
  }
}

// The last set is the one that everybody waited for.
void TimedRun::merge(Token& whole, const Token& part) {
  const Origin last = token_origin(part.id);
  Origin& origin = token_origin(whole.id);
  if (origin.slice < 0 || last.time >= origin.time) origin = last;
}

void TimedRun::take(SimCore& core, Op* op, const Token& token, Site) {
  if (op != nullptr) taken_ = token_origin(token.id);
  if (!workers_ || core.vector || token.core == core.index) return;  // an event
  // What the flag announces may be other rows at the place of those that are decoded.
  DecodedRows& decoded = decoded_[workers_->index_of(core.rank, core.block)];
  if (decoded.owner == core.index) decoded.owner = -1;
}

void TimedRun::store_epoch(SimCore& core, Op* notify, Token& token) {
  token_origin(token.id) = {notify != nullptr ? notify->slice : cores_[core.index].scalar,
                            Cause::epoch, now_};
}

void TimedRun::epoch_arrives(int rank, EpochSlot slot, std::uint64_t, const Token& token) {
  Origin& word = words_[word_number(rank, slot)];
  word = token_origin(token.id);
  word.time = now_;
}

TimedRun::Origin TimedRun::origin_of_pipe(SimCore& core, int lane, const Op& op) {
  const Origin issue{op.slice, Cause::issue, static_cast<Picoseconds>(op.issue_time)};
  const Origin& before = cores_[core.index].lanes[lane].last;
  Origin latest = before.slice >= 0 && before.time >= issue.time ? before : issue;
  if (taken_.slice >= 0 && taken_.time >= latest.time) latest = taken_;
  return latest;
}

void TimedRun::record_pipe_wait(int track, const Origin& from, const Op& op, const Origin& origin) {
  const Picoseconds begin = std::max(from.time, static_cast<Picoseconds>(op.issue_time));
  const bool waited = origin.cause != Cause::pipe && origin.cause != Cause::issue;
  if (!waited || now_ <= begin) return;
  timeline_.waits.push_back({track, origin.cause, begin, now_, op.site, origin.slice});
}

TimedRun::Origin TimedRun::origin_of_wait(SimCore& core) {
  const Blocked& blocked = core.blocked;
  const CoreState& state = cores_[core.index];
  Origin origin{-1, Cause::start, now_};
  switch (blocked.kind) {
    case Blocked::Kind::none:
    case Blocked::Kind::time:
      break;
    case Blocked::Kind::queue:
      origin = state.lanes[blocked.id].last;
      origin.cause = Cause::queue;
      break;
    case Blocked::Kind::idle:
      for (const LaneState& lane : state.lanes) {
        const bool later = &lane != &state.lanes[0] && lane.last.slice >= 0 &&
                           (origin.slice < 0 || lane.last.time > origin.time);
        if (later) origin = lane.last;
      }
      origin.cause = Cause::idle;
      break;
    case Blocked::Kind::flag:
      origin = token_origin(core.flags[blocked.id & 15].front().id);
      origin.cause = is_sync_flag(blocked.id) ? Cause::sync_all : Cause::flag;
      break;
    case Blocked::Kind::drain:
    case Blocked::Kind::result:
      origin = channels_[blocked.id].arrived;
      origin.cause = Cause::drain;
      break;
    case Blocked::Kind::epoch:
      origin = words_[word_number(core.rank, blocked.slot)];
      origin.cause = Cause::epoch;
      break;
  }
  return origin;
}

}  // namespace tandem::sim
