// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tandem {

struct WorldOptions {
  int ranks = 4;
  std::string transport = "shm";    // shm: a process per rank; threads: threads of this process
  std::int64_t timeout_ms = 30000;  // of every wait
  std::optional<int> workers;       // threads of a rank; default: its share of the processors
  std::uint64_t epoch_start = 0;    // first barrier value; for tests of wrap-around
};

// Throws Error{refused} with everything in the options that makes no sense.
void check_world_options(const WorldOptions& options);

// Threads of a rank that shares this host's processors with `ranks` − 1 others, unless told.
int default_workers(int ranks);

// How one rank of a world ended.
struct RankOutcome {
  int exit_code = 0;       // 0, the exit code of its Error, 128 + signal, or 134 for a bug
  std::string result;      // what its function returned
  std::string message;     // why it failed
  bool secondary = false;  // it stopped because another rank failed
};

// A rank's handle on the world: who it is, and the means to meet the other ranks. All calls that
// are marked collective are made by all ranks in the same order.
class World {
 public:
  using Main = std::function<std::string(World& world)>;
  using Progress = std::function<void(int rank, const std::string& line)>;

  // Runs `main` on every rank and returns when all have ended, in order of ranks. With shm the
  // ranks are forked from this process, which must not hold locks that `main` needs; a rank that
  // dies makes the others fail, and nothing outlives the call. Throws Error{refused} for options
  // that make no sense and Error{environment} if the world cannot be made.
  static std::vector<RankOutcome> spawn(const WorldOptions& options, const Main& main,
                                        const Progress& progress = {});

  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const;
  int size() const;
  // Threads that run this rank's blocks; the smallest count of all ranks.
  int workers() const;
  const WorldOptions& options() const;
  // Collective: all ranks meet.
  void barrier();
  // Collective: compares `fields` (name, value) over all ranks; throws the same Error{refused} on
  // all of them if one differs, naming the rank and both values.
  void agree(const std::string& subject,
             const std::vector<std::pair<std::string, std::string>>& fields);
  // Hands a line to the progress function of spawn().
  void progress(const std::string& line);

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  explicit World(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem
