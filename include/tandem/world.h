// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/types.h"

namespace tandem {

// This process's place in a world whose ranks are started one by one, by hand or by a launcher.
struct Membership {
  int rank = 0;
  int size = 1;
  std::string root;  // host:port where rank 0 listens; all ranks are given the same
  std::string job;   // ranks that were given another word are strangers, and not let in
};

// What the environment says: TANDEM_RANK, TANDEM_SIZE, TANDEM_ROOT and TANDEM_JOB, or the variables
// of Open MPI, PMI (MPICH, Hydra, Intel MPI) or a Slurm step. Nothing if it names no rank. Without
// TANDEM_ROOT the root is derived where all ranks are on one host, or Slurm names the hosts.
// Throws Error{refused} if it says a part only, or if a launcher started several processes and
// each would be alone.
std::optional<Membership> membership_from_env();

struct WorldOptions {
  int ranks = 4;
  // shm: a process per rank; threads: threads of this process; tcp: processes of any hosts.
  std::string transport = "shm";
  std::int64_t timeout_ms = 30000;  // of every wait
  std::optional<int> workers;       // threads of a rank; default: its share of the processors
  std::uint64_t epoch_start = 0;    // first barrier value; for tests of wrap-around
  // This process is one rank; the others are started elsewhere. Without it they are started here.
  std::optional<Membership> membership;
  // How ranks of one host reach each other over a transport between hosts: by memory that they
  // share (where they can, see docs/cluster.md), or by the link, as all others. Default: shared
  // with a membership; linked without one, which is how a transport is tried on one host.
  std::optional<SameHost> same_host;
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
  // that make no sense and Error{environment} if the world cannot be made. With a membership `main`
  // runs as that rank in this process, and the outcomes and the progress of all ranks come to each
  // of them; throws Error{timeout} too, naming the ranks that never came.
  static std::vector<RankOutcome> spawn(const WorldOptions& options, const Main& main,
                                        const Progress& progress = {});

  // Collective: joins the world of `options.membership`, or of membership_from_env() if it has
  // none, as one rank; alone if the environment names none. The world ends with the object. Throws
  // as spawn() does.
  static std::unique_ptr<World> from_env(WorldOptions options = {});

  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const;
  int size() const;
  // Threads that run this rank's blocks. An operator uses the smallest count of all its ranks.
  int workers() const;
  const WorldOptions& options() const;
  // Collective: all ranks meet.
  void barrier();
  // Collective: compares `fields` (name, value) over all ranks; throws the same Error{refused} on
  // all of them if one differs, naming the rank and both values.
  void agree(const std::string& subject,
             const std::vector<std::pair<std::string, std::string>>& fields);
  // Collective: the ranks of `members` as a world of their own, numbered in this order, with flags,
  // windows and failures of its own; null on all other ranks. A rank may be in several groups and
  // use them and the whole world from several threads at the same time. A group that fails leaves
  // the whole world as it is; the whole world breaks its groups, and must outlive them. Reports
  // name ranks of the whole world, and their numbers in the group. Throws Error{refused} if members
  // are named twice, are no ranks, or differ between ranks, and what from_env() throws.
  std::unique_ptr<World> group(const std::vector<int>& members);
  // Hands a line to the progress function of spawn(). On the thread that runs this rank's `main`:
  // a line from another one is dropped.
  void progress(const std::string& line);

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  explicit World(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem
