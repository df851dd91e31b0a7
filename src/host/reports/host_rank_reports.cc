// SPDX-License-Identifier: Apache-2.0
// What a rank says of itself and its peers when something is wrong.
#include <unistd.h>

#include "base/strings.h"
#include "host/host_rank.h"
#include "host/link/link.h"
#include "host/process_state.h"
#include "host/reports/rank_name.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

constexpr const char* kRunning = "is running";
// Twice the time between two heartbeats.
constexpr auto kQuiet = std::chrono::milliseconds(1000);

}  // namespace

std::string HostRank::name(int rank, std::string_view more) const {
  return name_rank(rank, transport_.group(), more);
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
  throw Error(ErrorKind::cancelled, cat(name(culprit), " failed: ", report));
}

std::string HostRank::why_broken() {
  try {
    check_poison();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void HostRank::check_ended(std::string_view purpose, std::uint64_t meeting) {
  for (int peer = 0; peer < ranks(); ++peer) {
    RankArea& other = control_.ranks[peer];
    // In this order: its last meeting comes before its end.
    if (other.state.load() != RankState::finished) continue;
    if (other.meetings.load() >= meeting) continue;
    const std::string report = cat(name(rank_), ": ", purpose, " cannot be: ", describe_peer(peer));
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
      cat(name(rank_), ": waited ", options_.timeout_ms, " ms at ", purpose, " for: ", missing);
  poison(report);
  throw Error(ErrorKind::timeout, report);
}

std::string HostRank::describe_peer(int peer) {
  if (control_.ranks[peer].state.load() == RankState::absent) {
    return name(peer, "never came");
  }
  const std::string named = link_ != nullptr
                                ? link_->name_of(peer)
                                : name(peer, cat("pid ", control_.ranks[peer].pid.load()));
  const std::string state = state_of(peer);
  if (link_ == nullptr || peer == rank_ || state != kRunning) return named + ' ' + state;
  // Its process may run behind a link that is down since less than the time that makes it quiet.
  return cat(named, ' ', state, ", heard of ", link_->silence(peer).count(), " ms ago");
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

}  // namespace tandem::host
