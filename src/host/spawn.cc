// SPDX-License-Identifier: Apache-2.0
#include "host/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "base/strings.h"
#include "host/host_rank.h"
#include "host/process_state.h"
#include "host/rank_main.h"
#include "host/transport/limits.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

// What a rank sends up its pipe: a type, a length and a text.
enum class FrameType : std::uint32_t { progress, result, error };
struct FrameHeader {
  FrameType type;
  std::int32_t exit_code;
  std::uint32_t secondary;
  std::uint32_t bytes;
};

// How long ranks have to unwind after a failure: they learn of it at once, unless they are stopped.
constexpr std::chrono::milliseconds kGrace{1200};

volatile sig_atomic_t signal_seen = 0;

void on_signal(int number) { signal_seen = number; }

void write_all(int file, const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(file, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the launcher is gone: nobody is left to tell
    next += written;
    bytes -= written;
  }
}

void send_frame(int file, FrameType type, const RankOutcome& outcome, const std::string& text) {
  const FrameHeader header{type, outcome.exit_code, outcome.secondary ? 1u : 0u,
                           static_cast<std::uint32_t>(text.size())};
  write_all(file, &header, sizeof header);
  write_all(file, text.data(), text.size());
}

[[noreturn]] void run_child(Transport& transport, const RankMain& main, int rank, int pipe_end,
                            pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(3);  // the launcher died before that took effect
  signal(SIGINT, SIG_IGN);            // the launcher decides
  signal(SIGTERM, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  const ProgressSink up = [pipe_end](int, const std::string& line) {
    send_frame(pipe_end, FrameType::progress, {}, line);
  };
  const ProgressScope scope(rank, up);
  const RankOutcome outcome = run_main(main, rank);
  transport.leave(rank, outcome.exit_code == 0 ? "" : outcome.message);
  if (outcome.exit_code == 0) {
    send_frame(pipe_end, FrameType::result, outcome, outcome.result);
  } else {
    send_frame(pipe_end, FrameType::error, outcome, outcome.message);
  }
  std::fflush(nullptr);
  _exit(outcome.exit_code);
}

// The launcher's side of one rank.
struct Child {
  pid_t pid = -1;
  int pipe_end = -1;
  std::string buffer;
  bool reaped = false;
  bool told = false;  // a result or an error frame came
  bool was_stopped = false;
};

// Notes SIGINT and SIGTERM for its lifetime, then gives the caller's handlers back.
class SignalWatch {
 public:
  SignalWatch() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    signal_seen = 0;
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }
  ~SignalWatch() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
};

class Launcher {
 public:
  Launcher(Transport& transport, const ProgressSink& progress)
      : transport_(transport), progress_(progress), outcomes_(transport.ranks()) {}

  std::vector<RankOutcome> run(const RankMain& main) {
    const SignalWatch watched;
    start(main);
    watch();
    return std::move(outcomes_);
  }

 private:
  void start(const RankMain& main) {
    const pid_t parent = getpid();
    // A pipe from each rank, and the other end of one.
    check_descriptors(cat("the launcher of ", transport_.ranks(), " ranks"),
                      transport_.ranks() + 1);
    children_.resize(transport_.ranks());
    for (int rank = 0; rank < transport_.ranks(); ++rank) {
      int ends[2];
      if (pipe2(ends, O_CLOEXEC) != 0) {
        kill_all();
        throw Error(ErrorKind::environment,
                    cat("rank ", rank, ": no pipe: ", std::strerror(errno), "; raise ulimit -n"));
      }
      std::fflush(nullptr);
      const pid_t pid = fork();
      if (pid == 0) {
        for (const Child& other : children_) {
          if (other.pipe_end >= 0) close(other.pipe_end);
        }
        close(ends[0]);
        run_child(transport_, main, rank, ends[1], parent);
      }
      close(ends[1]);
      if (pid < 0) {
        close(ends[0]);
        kill_all();
        throw Error(ErrorKind::environment,
                    cat("rank ", rank, ": cannot fork: ", std::strerror(errno),
                        "; raise ulimit -u or free memory"));
      }
      children_[rank].pid = pid;
      children_[rank].pipe_end = ends[0];
    }
  }

  void watch() {
    while (running()) {
      std::vector<pollfd> polls;
      int limit_ms = 50;
      for (const Child& child : children_) {
        if (child.pipe_end >= 0) polls.push_back({child.pipe_end, POLLIN, 0});
        // It closed its pipe because it ends: the moment comes without an event.
        if (child.pipe_end < 0 && !child.reaped) limit_ms = 1;
      }
      poll(polls.data(), polls.size(), limit_ms);
      for (int rank = 0; rank < transport_.ranks(); ++rank) read_pipe(rank);
      for (int rank = 0; rank < transport_.ranks(); ++rank) reap(rank, WNOHANG);
      if (signal_seen != 0) {
        interrupt();
        return;
      }
      if (failed_ && Clock::now() > kill_at_) kill_all();
    }
  }

  bool running() const {
    for (const Child& child : children_) {
      if (!child.reaped || child.pipe_end >= 0) return true;
    }
    return false;
  }

  void read_pipe(int rank) {
    Child& child = children_[rank];
    if (child.pipe_end < 0) return;
    pollfd ready{child.pipe_end, POLLIN, 0};
    while (child.pipe_end >= 0 && poll(&ready, 1, 0) > 0) {
      char data[65536];
      const ssize_t bytes = read(child.pipe_end, data, sizeof data);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) {
        close(child.pipe_end);
        child.pipe_end = -1;
        break;
      }
      child.buffer.append(data, bytes);
    }
    while (take_frame(rank)) {
    }
  }

  bool take_frame(int rank) {
    Child& child = children_[rank];
    FrameHeader header;
    if (child.buffer.size() < sizeof header) return false;
    std::memcpy(&header, child.buffer.data(), sizeof header);
    if (child.buffer.size() < sizeof header + header.bytes) return false;
    std::string text = child.buffer.substr(sizeof header, header.bytes);
    child.buffer.erase(0, sizeof header + header.bytes);
    RankOutcome& outcome = outcomes_[rank];
    switch (header.type) {
      case FrameType::progress:
        if (progress_) progress_(rank, text);
        return true;
      case FrameType::result:
        outcome.result = std::move(text);
        break;
      case FrameType::error:
        outcome.message = std::move(text);
        outcome.exit_code = header.exit_code;
        outcome.secondary = header.secondary != 0;
        break_world(transport_.control(), transport_.ranks(), rank, RankState::failed,
                    outcome.message);
        mark_failed();
        break;
    }
    child.told = true;
    return true;
  }

  void reap(int rank, int options) {
    Child& child = children_[rank];
    if (child.reaped || child.pid < 0) return;
    int status = 0;
    if (waitpid(child.pid, &status, options) != child.pid) return;
    child.reaped = true;
    read_pipe(rank);
    if (WIFEXITED(status) && child.told) return;
    // It ended without a word: killed, or aborted by a failed check.
    RankOutcome& outcome = outcomes_[rank];
    outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 134;
    if (child.was_stopped && outcome.message.empty()) {
      outcome.message = cat("rank ", rank, " (pid ", child.pid,
                            ") was stopped and has been killed with its world");
    }
    if (outcome.message.empty()) {
      outcome.message = WIFSIGNALED(status)
                            ? cat("rank ", rank, " (pid ", child.pid, ") was ended by signal ",
                                  WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")")
                            : cat("rank ", rank, " (pid ", child.pid, ") ended without a result");
    }
    outcome.secondary = killed_ && !child.was_stopped;
    transport_.control().ranks[rank].pid.store(child.pid);
    break_world(transport_.control(), transport_.ranks(), rank, RankState::dead, outcome.message);
    mark_failed();
  }

  void mark_failed() {
    if (failed_) return;
    failed_ = true;
    kill_at_ = Clock::now() + kGrace;
  }

  void kill_all() {
    killed_ = true;
    for (int rank = 0; rank < static_cast<int>(children_.size()); ++rank) {
      Child& child = children_[rank];
      if (child.reaped || child.pid <= 0) continue;
      // Whoever is stopped is what the others waited for.
      child.was_stopped = is_stopped(process_state(child.pid));
      kill(child.pid, SIGKILL);
    }
    for (int rank = 0; rank < static_cast<int>(children_.size()); ++rank) {
      reap(rank, 0);
      if (children_[rank].pipe_end >= 0) close(children_[rank].pipe_end);
      children_[rank].pipe_end = -1;
    }
  }

  void interrupt() {
    kill_all();
    for (RankOutcome& outcome : outcomes_) {
      outcome = {.exit_code = 128 + signal_seen,
                 .result = {},
                 .message = cat("interrupted by signal ", static_cast<int>(signal_seen)),
                 .secondary = false};
    }
  }

  Transport& transport_;
  const ProgressSink& progress_;
  std::vector<RankOutcome> outcomes_;
  std::vector<Child> children_;
  bool failed_ = false;
  bool killed_ = false;
  Clock::time_point kill_at_{};
};

}  // namespace

std::vector<RankOutcome> run_as_processes(Transport& transport, const RankMain& main,
                                          const ProgressSink& progress) {
  return Launcher(transport, progress).run(main);
}

std::vector<RankOutcome> run_as_threads(Transport& transport, const RankMain& main,
                                        const ProgressSink& progress) {
  std::vector<RankOutcome> outcomes(transport.ranks());
  // The sink hears one rank at a time, as it does from processes.
  std::mutex sink_mutex;
  const ProgressSink one_by_one = [&](int rank, const std::string& line) {
    if (!progress) return;
    std::lock_guard lock(sink_mutex);
    progress(rank, line);
  };
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < transport.ranks(); ++rank) {
    threads.emplace_back([&, rank] {
      const ProgressScope scope(rank, one_by_one);
      outcomes[rank] = run_main(main, rank);
      if (outcomes[rank].exit_code != 0) {
        break_world(transport.control(), transport.ranks(), rank, RankState::failed,
                    outcomes[rank].message);
      }
    });
  }
  threads.clear();  // joins
  return outcomes;
}

}  // namespace tandem::host
