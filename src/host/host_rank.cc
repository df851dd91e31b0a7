// SPDX-License-Identifier: Apache-2.0
#include "host/host_rank.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "base/strings.h"
#include "host/link/link.h"
#include "host/transport/limits.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

constexpr auto kSlice = std::chrono::milliseconds(100);
void write_text(char (&place)[kTextBytes], const std::string& text) {
  const std::size_t bytes = std::min(text.size(), kTextBytes - 1);
  std::memcpy(place, text.data(), bytes);
  place[bytes] = 0;
}

}  // namespace

void break_world(ControlArea& control, int ranks, int rank, RankState state,
                 const std::string& report) {
  RankArea& area = control.ranks[rank];
  std::uint32_t sound = 0;
  if (control.poison.load() != static_cast<std::uint32_t>(rank) + 1) {
    write_text(area.report, report);
    area.report_bytes.store(static_cast<std::uint32_t>(std::min(report.size(), kTextBytes - 1)));
    area.state.store(state);
    control.poison.compare_exchange_strong(sound, rank + 1);
  }
  for (int peer = 0; peer < ranks; ++peer) ring(control.ranks[peer]);
}

HostRank::HostRank(Transport& transport, int rank, const HostOptions& options, HostRank* whole)
    : transport_(transport),
      control_(transport.control()),
      rank_(rank),
      options_(options),
      whole_(whole),
      link_(transport.join(rank, std::chrono::milliseconds(options.timeout_ms))),
      epochs_(options.epoch_start) {
  for (int peer = 0; peer < ranks(); ++peer) areas_.push_back(transport.area_of(peer));
  for (int i = 0; i < kRanksMax; ++i) {
    area().arrived[i].value.store(epochs_);
    area().core[i].value.store(epochs_);
  }
  area().pid.store(getpid());
  area().state.store(RankState::running);
}

HostRank::~HostRank() {
  RankState running = RankState::running;
  area().state.compare_exchange_strong(running, RankState::finished);
}

bool HostRank::maps_all() const { return std::ranges::find(areas_, nullptr) == areas_.end(); }

void HostRank::meet(std::string_view purpose) { meet_with(purpose, nullptr); }

void HostRank::meet_with(std::string_view purpose, const std::string* text) {
  check_poison();
  const std::uint64_t meeting = area().meetings.fetch_add(1) + 1;
  if (link_ != nullptr) {
    link_->announce(meeting, text);
  } else {
    for (int peer = 0; peer < ranks(); ++peer) ring(control_.ranks[peer]);
  }
  const auto deadline = Clock::now() + std::chrono::milliseconds(options_.timeout_ms);
  while (true) {
    const std::uint32_t seen = area().bell.load();
    // Read before the others' places: whoever has left this meeting may break the world, and those
    // who look later must still find that all had come.
    const bool broken = is_broken();
    bool all = true;
    bool lost = false;
    for (int peer = 0; peer < ranks(); ++peer) {
      // In this order: its last meeting comes before its end.
      const RankState state = control_.ranks[peer].state.load();
      if (control_.ranks[peer].meetings.load() >= meeting) continue;
      all = false;
      lost = lost || (state != RankState::absent && state != RankState::running);
    }
    if (all) {
      if (link_ != nullptr) link_->note_completed(meeting);
      return;
    }
    // Over links the failure of one may overtake the arrival of another, which is on its way:
    // unless it was killed when it had told some of its peers.
    const bool all_came = link_ != nullptr && link_->was_completed(meeting) && !lost;
    if (broken && !all_came) check_poison();
    if (link_ != nullptr && !all_came) check_ended(purpose, meeting);
    if (Clock::now() >= deadline) report_missing(purpose, meeting);
    sleep_on(area(), seen, kSlice);
  }
}

std::vector<std::string> HostRank::exchange(std::string_view purpose, const std::string& text) {
  TANDEM_CHECK(text.size() < kTextBytes, "a meeting's text is too long");
  write_text(area().text, text);
  meet_with(purpose, &text);
  std::vector<std::string> texts;
  for (int peer = 0; peer < ranks(); ++peer) texts.emplace_back(control_.ranks[peer].text);
  meet(purpose);  // nobody overwrites a text that another rank still reads
  return texts;
}

// Windows that fit one by one may not fit together: ranks of one host draw on one memory.
void HostRank::check_memory(std::int64_t bytes) {
  const auto texts = exchange("window sizes", cat(bytes, " ", available_bytes()));
  if (link_ != nullptr) return;  // maybe on hosts of their own: each rank looks at its own memory
  std::int64_t needed = 0;
  std::int64_t available = INT64_MAX;
  std::int64_t largest = -1;
  int largest_rank = 0;
  int poorest_rank = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    std::int64_t need = 0;
    std::int64_t seen = 0;
    std::sscanf(texts[rank].c_str(), "%ld %ld", &need, &seen);
    if (need > largest) {
      largest = need;
      largest_rank = rank;
    }
    needed = need > INT64_MAX - needed ? INT64_MAX : needed + need;
    if (seen < available) {
      available = seen;
      poorest_rank = rank;
    }
  }
  // Each rank also maps all of them.
  if (needed <= available) return;
  throw Error(ErrorKind::environment,
              cat("windows: the ", ranks(), " ranks need ", needed, " bytes together, ", largest,
                  " of them on ", name(largest_rank), "; ", available, " are available to ",
                  name(poorest_rank),
                  ": free memory, raise the limits (ulimit -v), use fewer ranks or a smaller "
                  "shape"));
}

Windows HostRank::allocate_windows(std::int64_t bytes) {
  check_memory(bytes);
  WindowRange own;
  std::string error;
  try {
    own = transport_.reserve(rank_, bytes);
  } catch (const Error& failure) {
    error = failure.what();
  }
  const auto texts =
      exchange("window allocation", error.empty() ? cat(own.offset, " ", own.bytes) : "!" + error);
  std::string errors;
  Windows windows;
  for (const std::string& text : texts) {
    if (text.starts_with('!')) {
      errors += (errors.empty() ? "" : "\n") + text.substr(1);
      continue;
    }
    WindowRange range;
    std::sscanf(text.c_str(), "%ld %ld", &range.offset, &range.bytes);
    windows.ranges.push_back(range);
  }
  if (!errors.empty()) {
    if (error.empty()) transport_.release(rank_, own);
    throw Error(ErrorKind::environment, errors);
  }
  std::string map_error;
  for (int owner = 0; owner < ranks() && map_error.empty(); ++owner) {
    try {
      windows.addresses.push_back(
          area_of(owner) != nullptr ? transport_.map(owner, windows.ranges[owner]) : nullptr);
    } catch (const Error& failure) {
      map_error = cat(name(rank_), ": ", failure.what());
    }
  }
  for (const std::string& text : exchange("window mapping", map_error)) {
    if (!text.empty()) throw Error(ErrorKind::environment, text);
  }
  return windows;
}

void HostRank::free_windows(const Windows& windows) {
  for (int owner = 0; owner < static_cast<int>(windows.addresses.size()); ++owner) {
    if (windows.addresses[owner] == nullptr) continue;
    transport_.unmap(owner, windows.addresses[owner], windows.ranges[owner]);
  }
  // In a broken world a peer may be in the middle of a write; the transport frees the rest when all
  // have ended.
  if (is_broken()) return;
  if (!windows.ranges.empty()) transport_.release(rank_, windows.ranges[rank_]);
}

std::uint64_t HostRank::begin_epochs(std::uint64_t epochs) {
  const std::uint64_t base = epochs_;
  epochs_ += epochs;
  return base;
}

void HostRank::poison(const std::string& report) {
  break_world(control_, ranks(), rank_, RankState::failed, report);
  if (link_ != nullptr) link_->abort(report);
}

bool HostRank::is_broken() {
  return control_.poison.load() != 0 || (whole_ != nullptr && whole_->is_broken());
}

void HostRank::await_flush(int peer) {
  const std::uint64_t count = link_->flush(peer);
  const auto deadline = Clock::now() + std::chrono::milliseconds(options_.timeout_ms);
  while (true) {
    const std::uint32_t seen = area().bell.load();
    if (link_->flushed(peer).load() >= count) return;
    check_poison();
    if (Clock::now() >= deadline) {
      const std::string report = cat(name(rank_), ": waited ", options_.timeout_ms,
                                     " ms for a transfer; ", describe_peer(peer));
      poison(report);
      throw Error(ErrorKind::timeout, report);
    }
    sleep_on(area(), seen, kSlice);
  }
}

void HostRank::write_window(const Windows& windows, int owner, std::int64_t offset,
                            const void* from, std::int64_t bytes) {
  if (windows.addresses[owner] != nullptr) {
    std::memcpy(windows.addresses[owner] + offset, from, bytes);
    return;
  }
  link_->write(owner, {windows.ranges[owner].offset + offset, 1, bytes, bytes},
               static_cast<const std::byte*>(from), bytes);
  await_flush(owner);
}

void HostRank::read_window(const Windows& windows, int owner, std::int64_t offset, void* to,
                           std::int64_t bytes) {
  if (windows.addresses[owner] != nullptr) {
    std::memcpy(to, windows.addresses[owner] + offset, bytes);
    return;
  }
  link_->read(owner, {windows.ranges[owner].offset + offset, 1, bytes, bytes},
              static_cast<std::byte*>(to), bytes);
  await_flush(owner);
}

}  // namespace tandem::host
