// SPDX-License-Identifier: Apache-2.0
#include "host/worker.h"

#include <algorithm>

#include "base/strings.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

constexpr auto kSlice = std::chrono::milliseconds(100);

// How long an idle worker looks before it sleeps. A sleep and a wake-up take some 50 µs, an answer
// of a peer that is at work in the same launch often less than one. Beside a link's thread, which
// needs a processor to bring the answer, only a glance.
constexpr auto kSpin = std::chrono::microseconds(20);
constexpr auto kSpinBesideLink = std::chrono::microseconds(2);
constexpr int kLooksPerClock = 16;  // reading the clock takes as long as several looks

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class WorkerLoop {
 public:
  WorkerLoop(LaunchSite& site, int worker)
      : site_(site), worker_(worker), cores_(site.cores_of(worker)) {
    vectors_ = std::ranges::count_if(cores_, [](CoreState* core) { return is_vector(*core); });
  }

  void run() {
    while (true) {
      if (run_vectors()) continue;
      if (run_cube()) continue;
      if (all_finished()) return;
      idle();
    }
  }

 private:
  static bool is_vector(const CoreState& core) { return core.kind == "vector"; }

  bool resume_if_ready(CoreState& core) {
    if (core.fiber.finished()) return false;
    if (!site_.cancelled() && !core.wait.ready()) return false;
    core.fiber.resume();
    return true;
  }

  bool run_vectors() {
    bool progress = false;
    for (std::size_t i = 0; i < vectors_; ++i) progress |= resume_if_ready(*cores_[i]);
    return progress;
  }

  // One step of one cube core. A paused product keeps its turn; otherwise they take turns.
  bool run_cube() {
    const std::size_t cubes = cores_.size() - vectors_;
    for (std::size_t i = 0; i < cubes; ++i) {
      const std::size_t index = (turn_ + i) % cubes;
      CoreState& core = *cores_[vectors_ + index];
      if (!resume_if_ready(core)) continue;
      turn_ = core.wait.kind == Wait::Kind::pause && !core.fiber.finished() ? index : index + 1;
      return true;
    }
    return false;
  }

  bool all_finished() const {
    return std::ranges::all_of(cores_, [](CoreState* core) { return core->fiber.finished(); });
  }

  bool any_ready() const {
    return site_.cancelled() || std::ranges::any_of(cores_, [](CoreState* core) {
             return !core->fiber.finished() && core->wait.ready();
           });
  }

  void idle() {
    const auto now = Clock::now();
    if (!site_.rank().options().oversubscribed && spin_until_ready(now)) return;
    RankArea& area = site_.rank().area();
    const std::uint32_t seen = area.bell.load();
    if (any_ready()) return;
    if (check_world(now)) return;
    sleep_on(area, seen, time_to_sleep());
  }

  bool spin_until_ready(Clock::time_point now) const {
    const auto limit = site_.rank().maps_all() ? kSpin : kSpinBesideLink;
    do {
      for (int look = 0; look < kLooksPerClock; ++look) {
        if (any_ready()) return true;
        relax();
      }
    } while (Clock::now() - now < limit);
    return false;
  }

  // Until the next core that waits for a moment, at most a slice.
  std::chrono::nanoseconds time_to_sleep() const {
    std::chrono::nanoseconds time = kSlice;
    for (const CoreState* core : cores_) {
      if (core->fiber.finished() || core->wait.kind != Wait::Kind::until) continue;
      time = std::min<std::chrono::nanoseconds>(time, core->wait.until - Clock::now());
    }
    return std::max(time, std::chrono::nanoseconds(1));
  }

  // Poison and deadlines. True: the launch was cancelled.
  bool check_world(Clock::time_point now) {
    try {
      site_.rank().check_poison();
    } catch (const Error& error) {
      const std::string report = cat(error.what(), "\n", site_.describe_waits(worker_, nullptr));
      site_.fail(std::make_exception_ptr(Error(error.kind(), report)), report);
      return true;
    }
    const std::chrono::milliseconds timeout(site_.rank().options().timeout_ms);
    for (CoreState* core : cores_) {
      if (core->fiber.finished() || core->wait.kind == Wait::Kind::until) continue;
      if (core->wait.since == Clock::time_point{}) core->wait.since = now;
      if (now - core->wait.since < timeout) continue;
      std::string report = site_.describe_waits(worker_, core);
      report += site_.rank().describe_others(report);
      site_.fail(std::make_exception_ptr(Error(ErrorKind::timeout, report)), report);
      return true;
    }
    return false;
  }

  LaunchSite& site_;
  int worker_;
  std::span<CoreState* const> cores_;
  std::size_t vectors_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace

void run_worker(LaunchSite& site, int worker) { WorkerLoop(site, worker).run(); }

}  // namespace tandem::host
