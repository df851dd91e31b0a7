// SPDX-License-Identifier: Apache-2.0
#include "host/member.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <sstream>

#include "base/strings.h"
#include "host/control_area.h"
#include "host/link/link.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

using std::chrono::milliseconds;

enum NoteKind : std::uint32_t { progress_note, outcome_note };

// How long a rank that has failed waits to hear how the others ended: they find out at once, or
// when nothing was heard for long, which is in their own reports.
constexpr milliseconds kFailedPatience{700};

std::string to_text(const RankOutcome& outcome) {
  return cat(outcome.exit_code, ' ', outcome.secondary ? 1 : 0, '\n',
             outcome.exit_code == 0 ? outcome.result : outcome.message);
}

RankOutcome parse_outcome(const std::string& text) {
  RankOutcome outcome;
  std::istringstream line(text.substr(0, text.find('\n')));
  line >> outcome.exit_code >> outcome.secondary;
  const std::size_t end = text.find('\n');
  const std::string rest = end == std::string::npos ? "" : text.substr(end + 1);
  (outcome.exit_code == 0 ? outcome.result : outcome.message) = rest;
  return outcome;
}

// What the other ranks say, and the wait for their last word.
class Audience {
 public:
  Audience(Transport& transport, Link& link, const ProgressSink& progress)
      : transport_(transport), link_(link), progress_(progress), outcomes_(link.ranks()) {
    link_.listen(
        [this](int peer, std::uint32_t kind, const std::string& text) { hear(peer, kind, text); });
  }
  ~Audience() { link_.listen({}); }
  Audience(const Audience&) = delete;
  Audience& operator=(const Audience&) = delete;

  void say(const std::string& line) {
    {
      const std::lock_guard guard(mutex_);
      if (progress_) progress_(link_.rank(), line);
    }
    link_.send_note(progress_note, line);
  }

  std::vector<RankOutcome> end_with(const RankOutcome& own, milliseconds patience) {
    if (own.exit_code != 0) link_.abort(own.message);
    link_.send_note(outcome_note, to_text(own));
    std::unique_lock lock(mutex_);
    outcomes_[link_.rank()] = own;
    const auto deadline = Clock::now() + patience;
    while (Clock::now() < deadline && !all_known()) {
      // A loss comes without a note.
      changed_.wait_for(lock, milliseconds(20));
    }
    std::vector<RankOutcome> all;
    for (int rank = 0; rank < link_.ranks(); ++rank) all.push_back(outcome_of(rank));
    return all;
  }

 private:
  void hear(int peer, std::uint32_t kind, const std::string& text) {
    const std::lock_guard guard(mutex_);
    if (kind == progress_note && progress_) progress_(peer, text);
    if (kind == outcome_note) outcomes_[peer] = parse_outcome(text);
    changed_.notify_all();
  }

  bool is_lost(int rank) const {
    return transport_.control().ranks[rank].state.load() == RankState::dead;
  }

  bool all_known() const {
    for (int rank = 0; rank < link_.ranks(); ++rank) {
      if (!outcomes_[rank] && !is_lost(rank)) return false;
    }
    return true;
  }

  RankOutcome outcome_of(int rank) const {
    if (outcomes_[rank]) return *outcomes_[rank];
    const RankArea& area = transport_.control().ranks[rank];
    const std::string why = is_lost(rank)
                                ? cat(" is lost: ", std::string(area.report, area.report_bytes))
                                : " has not said how it ended";
    return {.exit_code = exit_code(ErrorKind::lost_rank),
            .result = {},
            .message = link_.name_of(rank) + why,
            .secondary = false};
  }

  Transport& transport_;
  Link& link_;
  const ProgressSink& progress_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<RankOutcome>> outcomes_;
};

}  // namespace

std::vector<RankOutcome> run_as_member(Transport& transport, int rank, milliseconds timeout,
                                       const RankMain& main, const ProgressSink& progress) {
  Link* link = transport.join(rank, timeout);
  std::vector<RankOutcome> outcomes;
  bool failed = false;
  {
    Audience audience(transport, *link, progress);
    const ProgressSink say = [&audience](int, const std::string& line) { audience.say(line); };
    const ProgressScope scope(rank, say);
    const RankOutcome own = run_main(main, rank);
    failed = own.exit_code != 0;
    outcomes = audience.end_with(own, failed ? std::min(timeout, kFailedPatience) : timeout);
  }
  transport.leave(rank, failed ? outcomes[rank].message : "");
  return outcomes;
}

}  // namespace tandem::host
