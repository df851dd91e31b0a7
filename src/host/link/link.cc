// SPDX-License-Identifier: Apache-2.0
// What ranks post, and what is said to people. The communication thread is in link_thread.cc.
#include "host/link/link.h"

#include <algorithm>

#include "base/strings.h"
#include "host/reports/rank_name.h"

namespace tandem::host {

Link::Link(ControlArea& control, WindowMemory& memory, std::unique_ptr<Streams> streams,
           LinkOptions options)
    : control_(control),
      memory_(memory),
      streams_(std::move(streams)),
      options_(std::move(options)) {
  const std::int64_t now = Clock::now().time_since_epoch().count();
  for (int rank = 0; rank < static_cast<int>(options_.members.size()); ++rank) {
    peers_.push_back(std::make_unique<Peer>(*this, rank));
    peers_.back()->heard_ns.store(now);
    peers_.back()->gone.store(rank == options_.rank);
    RankArea& area = control_.ranks[rank];
    area.pid.store(options_.members[rank].pid);
    if (rank != options_.rank) area.state.store(RankState::running);
  }
  if (peers_.size() > 1) thread_ = std::thread([this] { serve(); });
}

Link::~Link() { leave(); }

void Link::post(int peer, const FrameHeader& header, std::string text) {
  peers_[peer]->outbox.post(header, std::move(text));
  wake();
}

void Link::wake() {
  // Pairs with the thread's order "say that it sleeps, look for work": one of both sees the other.
  if (asleep_.exchange(false)) streams_->kick();
}

void Link::write(int peer, const RemoteRows& to, const std::byte* from, std::int64_t pitch) {
  peers_[peer]->outbox.post_rows({.type = FrameType::write, .rows = to}, from, pitch);
  wake();
}

void Link::read(int peer, const RemoteRows& from, std::byte* to, std::int64_t pitch) {
  const std::int64_t bytes = from.rows * from.row_bytes;
  if (bytes == 0) return;
  Peer& target = *peers_[peer];
  std::uint64_t id = 0;
  {
    const std::lock_guard guard(target.inbox_mutex);
    id = target.next_id++;
    target.reads[id] = {to, pitch, from, bytes};
  }
  post(peer, {.type = FrameType::read, .rows = from, .id = id});
}

void Link::fill(int peer, const RemoteRows& to, std::uint32_t value) {
  post(peer, {.type = FrameType::fill, .rows = to, .value = value});
}

void Link::reduce(int peer, const RemoteRows& to, OutputType type, const std::byte* from,
                  std::int64_t pitch) {
  const FrameHeader header{
      .type = FrameType::reduce, .kind = static_cast<std::uint32_t>(type), .rows = to};
  peers_[peer]->outbox.post_rows(header, from, pitch);
  wake();
}

void Link::fetch_add(int peer, std::int64_t offset, std::uint64_t value, FetchReply& reply) {
  Peer& target = *peers_[peer];
  std::uint64_t id = 0;
  {
    const std::lock_guard guard(target.inbox_mutex);
    id = target.next_id++;
    target.fetches[id] = &reply;
  }
  post(peer, {.type = FrameType::fetch_add, .rows = {offset, 1, 8, 8}, .id = id, .value = value});
}

void Link::store_word(int peer, EpochSlot slot, std::uint64_t value) {
  post(peer, {.type = FrameType::word,
              .kind = static_cast<std::uint32_t>(slot.kind),
              .id = static_cast<std::uint64_t>(slot.index),
              .value = value});
}

std::uint64_t Link::flush(int peer) {
  // The c-th answer belongs to the c-th flush that was posted. Those posted before the caller's
  // operations were counted before, so the one with the caller's number is behind them.
  const std::uint64_t count = peers_[peer]->flushes.fetch_add(1) + 1;
  post(peer, {.type = FrameType::flush});
  return count;
}

void Link::drop_memory() {
  for (auto& peer : peers_) {
    peer->outbox.drop_memory();
    const std::lock_guard guard(peer->inbox_mutex);
    peer->inbox.let_go();
    peer->reads.clear();
    peer->fetches.clear();
  }
}

void Link::announce(std::uint64_t meeting, const std::string* text) {
  const FrameHeader header{.type = FrameType::meeting,
                           .kind = text != nullptr ? 1u : 0u,
                           .id = meeting,
                           .value = completed_.load()};
  for (auto& peer : peers_) {
    if (peer->rank != options_.rank) peer->outbox.post(header, text != nullptr ? *text : "");
  }
  wake();
}

void Link::abort(const std::string& report) {
  // Who failed says so itself, to all; a rank that only follows would hide it.
  const int culprit = static_cast<int>(control_.poison.load()) - 1;
  const bool follows = culprit >= 0 && culprit != options_.rank &&
                       control_.ranks[culprit].state.load() == RankState::failed;
  if (follows) return;
  for (auto& peer : peers_) {
    if (peer->rank == options_.rank) continue;
    peer->outbox.post({.type = FrameType::abort, .value = completed_.load()}, report);
  }
  wake();
}

void Link::send_note(std::uint32_t kind, const std::string& text) {
  for (auto& peer : peers_) {
    if (peer->rank == options_.rank) continue;
    peer->outbox.post({.type = FrameType::note, .kind = kind}, text);
  }
  wake();
}

void Link::listen(NoteSink sink) {
  const std::lock_guard guard(notes_mutex_);
  note_sink_ = std::move(sink);
  if (!note_sink_) return;
  for (const Note& note : early_notes_) note_sink_(note.peer, note.kind, note.text);
  early_notes_.clear();
}

void Link::leave(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return;
  for (auto& peer : peers_) {
    if (peer->rank != options_.rank) peer->outbox.post({.type = FrameType::goodbye});
  }
  patience_ = patience;
  leaving_.store(true);
  streams_->kick();
  thread_.join();
}

std::string Link::name_of(int peer) const {
  const Member& member = options_.members[peer];
  const bool elsewhere = member.host != options_.members[options_.rank].host;
  return name_rank(peer, options_.group,
                   cat("pid ", member.pid, elsewhere ? " on " + member.host : ""));
}

int Link::ranks_here() const {
  const Member& own = options_.members[options_.rank];
  return static_cast<int>(std::ranges::count_if(options_.members, [&own](const Member& member) {
    return member.host == own.host && member.identity == own.identity;
  }));
}

bool Link::shares_processes_with(int peer) const {
  return options_.members[peer].identity == options_.members[options_.rank].identity;
}

std::chrono::milliseconds Link::silence(int peer) const {
  const Clock::duration heard(peers_[peer]->heard_ns.load());
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch() -
                                                               heard);
}

}  // namespace tandem::host
