// SPDX-License-Identifier: Apache-2.0
// The communication thread of a link: sends, receives, applies, and watches over the peers.
#include <algorithm>
#include <cstring>
#include <span>

#include "base/strings.h"
#include "gemm/convert.h"
#include "host/host_rank.h"
#include "host/link/link.h"

namespace tandem::host {
namespace {

using std::chrono::milliseconds;

// Often enough for limits of seconds, seldom enough for 64 ranks on two processors: 8000 frames a
// second among them all.
constexpr milliseconds kHeartbeat{500};
constexpr milliseconds kNap{100};
// A stream gets so many bytes at a time before the others have their turn.
constexpr std::int64_t kTurnBytes = 4 << 20;

bool is_known(OutputType type) {
  return std::ranges::any_of(kEnumNames<OutputType>,
                             [type](const auto& entry) { return entry.first == type; });
}

}  // namespace

void Link::serve() {
  std::vector<int> readable;
  Clock::time_point looked = Clock::now();
  Clock::time_point end = Clock::time_point::max();
  while (true) {
    const bool more = send_all();
    const bool leaving = leaving_.load();
    if (leaving && end == Clock::time_point::max()) end = Clock::now() + patience_;
    if (leaving) {
      // Only an answer says that the peer has taken all: what a kernel still holds may be lost.
      const bool done = std::ranges::all_of(
          peers_, [](const auto& peer) { return peer->gone || peer->said_farewell; });
      if (done || Clock::now() >= end) break;
    }
    asleep_.store(true);
    // What was posted since send_all() leaves no time to sleep; full streams are watched by wait().
    const bool busy = more || std::ranges::any_of(peers_, [](const auto& peer) {
                        return !peer->gone && peer->outbox.has_posted();
                      });
    readable.clear();
    streams_->wait(busy ? milliseconds(0) : leaving ? milliseconds(10) : kNap, readable);
    asleep_.store(false);
    const auto now = Clock::now();
    // This thread was held up itself: peers must not be blamed for that.
    if (now - looked > 4 * kNap) {
      for (auto& peer : peers_) peer->heard_ns.store(now.time_since_epoch().count());
    }
    looked = now;
    rings_ = false;
    for (const int peer : readable) {
      if (!peers_[peer]->gone && receive_from(*peers_[peer])) {
        peers_[peer]->heard_ns.store(now.time_since_epoch().count());
      }
    }
    look_after_peers(now);
    if (rings_) ring(own_area());
  }
  for (auto& peer : peers_) {
    if (!peer->gone) streams_->close(peer->rank);
  }
}

bool Link::send_all() {
  bool more = false;
  for (auto& peer : peers_) {
    if (peer->gone) continue;
    std::int64_t sent = 0;
    std::int64_t total = 0;
    do {
      sent = peer->outbox.send_with(
          [&](std::span<const iovec> pieces) { return streams_->send(peer->rank, pieces); });
      total += std::max<std::int64_t>(sent, 0);
    } while (sent > 0 && total < kTurnBytes);
    more = more || sent > 0;
    if (total > 0) peer->spoken_to = Clock::now();
    // A broken stream may still hold a last word of the peer; receiving finds its end.
  }
  return more;
}

bool Link::receive_from(Peer& peer) {
  std::int64_t total = 0;
  while (total < kTurnBytes) {
    std::int64_t bytes = 0;
    bool nonsense = false;
    {
      const std::lock_guard guard(peer.inbox_mutex);
      std::int64_t received = 0;
      bytes = peer.inbox.receive_with([&](std::span<const iovec> pieces) {
        return received = streams_->receive(peer.rank, pieces);
      });
      nonsense = bytes < 0 && received > 0;
    }
    if (bytes < 0) {
      if (peer.said_goodbye) {
        peer.gone = true;
        streams_->close(peer.rank);
      } else {
        lose(peer, nonsense ? "it sent what makes no sense" : streams_->why(peer.rank));
      }
      return total > 0;
    }
    if (bytes == 0) break;
    total += bytes;
  }
  return total > 0;
}

void Link::look_after_peers(Clock::time_point now) {
  for (auto& peer : peers_) {
    if (peer->gone) continue;
    if (now - peer->spoken_to >= kHeartbeat && peer->outbox.empty()) {
      peer->outbox.post({.type = FrameType::heartbeat});
      peer->spoken_to = now;
    }
    const milliseconds silent = silence(peer->rank);
    if (silent >= options_.silence_limit && !peer->said_goodbye) {
      lose(*peer, cat("nothing was heard of it for ", silent.count(), " ms"));
    }
  }
}

void Link::lose(Peer& peer, const std::string& why) {
  peer.gone = true;
  streams_->close(peer.rank);
  RankArea& area = control_.ranks[peer.rank];
  if (area.state.load() == RankState::running) {
    break_world(control_, static_cast<int>(peers_.size()), peer.rank, RankState::dead, why);
  }
  rings_ = true;
}

Destination Link::place(Peer& peer, const FrameHeader& header) {
  using enum Destination::Kind;
  switch (header.type) {
    case FrameType::write: {
      std::byte* address = memory_.find(header.rows);
      return address != nullptr ? Destination{rows, address, header.rows.pitch}
                                : Destination{refused};
    }
    case FrameType::read_data:
      return place_read(peer, header);
    case FrameType::read:
    case FrameType::fill:
    case FrameType::fetch_add:
      return {memory_.find(header.rows) != nullptr ? nowhere : refused};
    case FrameType::reduce: {
      const bool sound = memory_.find(header.rows) != nullptr &&
                         is_known(static_cast<OutputType>(header.kind)) &&
                         header.rows.rows * header.rows.row_bytes ==
                             static_cast<std::int64_t>(header.payload_bytes);
      return {sound ? text : refused};
    }
    case FrameType::word:
      return {header.kind <= 1 && header.id < kRanksMax ? nowhere : refused};
    case FrameType::fetched:
    case FrameType::flush:
    case FrameType::flushed:
    case FrameType::goodbye:
    case FrameType::farewell:
    case FrameType::heartbeat:
      return {header.payload_bytes == 0 ? nowhere : refused};
    case FrameType::meeting:
      return {header.payload_bytes < kTextBytes ? text : refused};
    case FrameType::abort:
    case FrameType::note:
      return {text};
  }
  return {refused};
}

Destination Link::place_read(Peer& peer, const FrameHeader& header) {
  using enum Destination::Kind;
  const auto found = peer.reads.find(header.id);
  if (found == peer.reads.end()) return {nowhere};  // asked for by a launch that has failed
  PendingRead& read = found->second;
  const RemoteRows& part = header.rows;
  const auto first = static_cast<std::int64_t>(header.value);
  const bool sound = first >= 0 && first + part.rows <= read.rows.rows &&
                     part.offset + part.row_bytes <= read.rows.row_bytes;
  if (!sound) return {refused};
  return {rows, read.to + first * read.pitch + part.offset, read.pitch};
}

void Link::take(Peer& peer, const FrameHeader& header, std::string& text) {
  RankArea& area = control_.ranks[peer.rank];
  switch (header.type) {
    case FrameType::meeting:
      if (header.kind == 1) std::memcpy(area.text, text.c_str(), text.size() + 1);
      peers_completed_.store(std::max(peers_completed_.load(), header.value));
      area.meetings.store(header.id);
      rings_ = true;
      return;
    case FrameType::abort:
      take_abort(peer, header, text);
      return;
    case FrameType::goodbye: {
      peer.said_goodbye = true;
      RankState running = RankState::running;
      area.state.compare_exchange_strong(running, RankState::finished);
      peer.outbox.post({.type = FrameType::farewell});
      rings_ = true;
      return;
    }
    case FrameType::farewell:
      peer.said_farewell = true;
      return;
    case FrameType::note:
      take_note(peer.rank, header.kind, text);
      return;
    case FrameType::heartbeat:
      return;
    case FrameType::write:
    case FrameType::fill:
    case FrameType::reduce:
    case FrameType::read:
    case FrameType::read_data:
    case FrameType::fetch_add:
    case FrameType::fetched:
    case FrameType::word:
    case FrameType::flush:
    case FrameType::flushed:
      take_memory(peer, header, text);
  }
}

void Link::take_memory(Peer& peer, const FrameHeader& header, std::string& text) {
  if (header.type == FrameType::write) return;  // its bytes are where they belong
  if (header.type == FrameType::read) {
    std::byte* from = memory_.find(header.rows);
    if (from == nullptr) return;
    peer.outbox.post_rows({.type = FrameType::read_data, .rows = header.rows, .id = header.id},
                          from, header.rows.pitch);
  } else if (header.type == FrameType::read_data) {
    const auto found = peer.reads.find(header.id);
    if (found == peer.reads.end()) return;
    found->second.missing_bytes -= static_cast<std::int64_t>(header.payload_bytes);
    if (found->second.missing_bytes <= 0) peer.reads.erase(found);
  } else if (header.type == FrameType::fill) {
    std::byte* to = memory_.find(header.rows);
    const auto value = static_cast<std::uint32_t>(header.value);
    for (std::int64_t row = 0; to != nullptr && row < header.rows.rows; ++row) {
      for (std::int64_t at = 0; at + 4 <= header.rows.row_bytes; at += 4) {
        std::memcpy(to + row * header.rows.pitch + at, &value, 4);
      }
    }
  } else if (header.type == FrameType::reduce) {
    take_reduction(header, text);
  } else if (header.type == FrameType::fetch_add) {
    auto* word = reinterpret_cast<std::uint64_t*>(memory_.find(header.rows));
    if (word == nullptr) return;
    const std::uint64_t old = std::atomic_ref<std::uint64_t>(*word).fetch_add(header.value);
    peer.outbox.post({.type = FrameType::fetched, .id = header.id, .value = old});
  } else if (header.type == FrameType::fetched) {
    const auto found = peer.fetches.find(header.id);
    if (found == peer.fetches.end()) return;
    found->second->value = header.value;
    // Pairs with the acquire of who waits for the reply.
    found->second->done.store(1, std::memory_order_release);
    peer.fetches.erase(found);
    rings_ = true;
  } else if (header.type == FrameType::word) {
    const auto kind = static_cast<EpochSlot::Kind>(header.kind);
    EpochWord* words = kind == EpochSlot::Kind::arrived ? own_area().arrived : own_area().core;
    // Everything that came before is visible to whoever acquires the word.
    words[header.id].value.store(header.value, std::memory_order_release);
    rings_ = true;
  } else if (header.type == FrameType::flush) {
    peer.outbox.post({.type = FrameType::flushed});
  } else if (header.type == FrameType::flushed) {
    peer.flushed.fetch_add(1, std::memory_order_release);
    rings_ = true;
  }
}

void Link::take_reduction(const FrameHeader& header, const std::string& text) {
  const auto type = static_cast<OutputType>(header.kind);
  std::byte* to = memory_.find(header.rows);
  if (to == nullptr) return;
  const std::int64_t count = header.rows.row_bytes / element_bytes(type);
  std::vector<float> sums(count);
  for (std::int64_t row = 0; row < header.rows.rows; ++row) {
    std::byte* target = to + row * header.rows.pitch;
    const auto* source =
        reinterpret_cast<const std::byte*>(text.data()) + row * header.rows.row_bytes;
    gemm::widen_row(target, type, count, sums.data());
    gemm::widen_add_row(source, type, count, sums.data());
    gemm::store_row(sums.data(), nullptr, count, type, target);
  }
}

void Link::take_abort(Peer& peer, const FrameHeader& header, const std::string& text) {
  peers_completed_.store(std::max(peers_completed_.load(), header.value));
  peer.said_goodbye = true;
  if (control_.ranks[peer.rank].state.load() == RankState::running) {
    break_world(control_, static_cast<int>(peers_.size()), peer.rank, RankState::failed, text);
  }
  rings_ = true;
}

void Link::take_note(int peer, std::uint32_t kind, const std::string& text) {
  const std::lock_guard guard(notes_mutex_);
  if (note_sink_) {
    note_sink_(peer, kind, text);
  } else {
    early_notes_.push_back({peer, kind, text});
  }
}

}  // namespace tandem::host
