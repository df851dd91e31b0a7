// SPDX-License-Identifier: Apache-2.0
#include "host/host_rank.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "base/strings.h"
#include "host/link/link.h"
#include "host/process_state.h"
#include "host/transport/limits.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

constexpr const char* kRunning = "is running";
constexpr auto kSlice = std::chrono::milliseconds(100);
// Twice the time between two heartbeats.
constexpr auto kQuiet = std::chrono::milliseconds(1000);

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

void HostRank::check_ended(std::string_view purpose, std::uint64_t meeting) {
  for (int peer = 0; peer < ranks(); ++peer) {
    RankArea& other = control_.ranks[peer];
    // In this order: its last meeting comes before its end.
    if (other.state.load() != RankState::finished) continue;
    if (other.meetings.load() >= meeting) continue;
    const std::string report =
        cat("rank ", rank_, ": ", purpose, " cannot be: ", describe_peer(peer));
    poison(report);
    throw Error(ErrorKind::lost_rank, report);
  }
}

void HostRank::report_missing(std::string_view purpose, std::uint64_t meeting) {
  std::string missing;
  for (int peer = 0; peer < ranks(); ++peer) {
    if (control_.ranks[peer].meetings.load() >= meeting) continue;
    missing += (missing.empty() ? "" : ", ") + describe_peer(peer);
  }
  const std::string report =
      cat("rank ", rank_, ": waited ", options_.timeout_ms, " ms at ", purpose, " for: ", missing);
  poison(report);
  throw Error(ErrorKind::timeout, report);
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
                  " of them on rank ", largest_rank, "; ", available, " are available to rank ",
                  poorest_rank,
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
      map_error = cat("rank ", rank_, ": ", failure.what());
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
  // In a broken world a peer may be in the middle of a write; the transport frees the rest.
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

void HostRank::check_poison() {
  const std::uint32_t poison = control_.poison.load();
  if (poison == 0 && whole_ != nullptr) whole_->check_poison();
  if (poison == 0) return;
  const int culprit = static_cast<int>(poison) - 1;
  if (culprit == rank_) throw Error(ErrorKind::cancelled, "this rank failed before");
  RankArea& other = control_.ranks[culprit];
  if (other.state.load() == RankState::dead) {
    throw Error(ErrorKind::lost_rank, describe_peer(culprit));
  }
  const std::string report(other.report, other.report_bytes.load());
  throw Error(ErrorKind::cancelled, cat("rank ", culprit, " failed: ", report));
}

std::string HostRank::describe_peer(int peer) {
  if (control_.ranks[peer].state.load() == RankState::absent) {
    return cat("rank ", peer, " (never came)");
  }
  const std::string name = link_ != nullptr
                               ? link_->name_of(peer)
                               : cat("rank ", peer, " (pid ", control_.ranks[peer].pid.load(), ")");
  const std::string state = state_of(peer);
  if (link_ == nullptr || peer == rank_ || state != kRunning) return name + ' ' + state;
  // Its process may run behind a link that is down since less than the time that makes it quiet.
  return cat(name, ' ', state, ", heard of ", link_->silence(peer).count(), " ms ago");
}

std::string HostRank::describe_others(const std::string& report) {
  std::string lines;
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer == rank_ || state_of(peer) == kRunning) continue;
    const std::string line = describe_peer(peer);
    // "rank 1 (pid 4711" names it, whatever is said of it.
    if (report.find(line.substr(0, line.find(')'))) == std::string::npos) lines += "\n  " + line;
  }
  return lines;
}

std::string HostRank::state_of(int peer) {
  RankArea& other = control_.ranks[peer];
  const int pid = other.pid.load();
  const bool visible = link_ == nullptr || link_->shares_processes_with(peer);
  const char process = visible && pid != getpid() ? process_state(pid) : 'R';
  switch (other.state.load()) {
    case RankState::absent:
      break;
    case RankState::finished:
      return "has ended";
    case RankState::failed:
      return "has failed";
    case RankState::dead: {
      if (link_ == nullptr) return "is dead";
      const std::string why(other.report, other.report_bytes.load());
      return cat(is_stopped(process) ? "is stopped: " : "is lost: ", why);
    }
    case RankState::running:
      if (is_stopped(process)) return "is stopped";
      if (process == 'Z' || process == 0) return "is dead";
      if (link_ != nullptr && peer != rank_ && link_->silence(peer) >= kQuiet) {
        return cat("has been silent for ", link_->silence(peer).count(), " ms");
      }
  }
  return kRunning;
}

void HostRank::await_flush(int peer) {
  const std::uint64_t count = link_->flush(peer);
  const auto deadline = Clock::now() + std::chrono::milliseconds(options_.timeout_ms);
  while (true) {
    const std::uint32_t seen = area().bell.load();
    if (link_->flushed(peer).load() >= count) return;
    check_poison();
    if (Clock::now() >= deadline) {
      const std::string report = cat("rank ", rank_, ": waited ", options_.timeout_ms,
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
