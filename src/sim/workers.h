// SPDX-License-Identifier: Apache-2.0
// Cores that share a few workers: a worker runs one of its cores at a time. Vector cores go first;
// a product hands over only at its pauses; otherwise a core keeps its worker until it waits.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "sim/flow.h"

namespace tandem::sim {

// Whether work lets vector cores go first every now and then.
enum class Share : std::uint8_t { whole, pauses };

struct Work {
  std::uint64_t job = 0;
  int core = 0;
  bool vector = false;
  Share share = Share::whole;
  Picoseconds left = 0;
  Picoseconds asked = 0;  // when
};

class Workers {
 public:
  // `processors` run the workers of all ranks; 0: one each. A product pauses every `pause`.
  Workers(int ranks, int per_rank, std::int64_t processors, Picoseconds pause, FlowNetwork& flows);

  // The worker of a block.
  int index_of(int rank, int block) const { return rank * per_rank_ + block % per_rank_; }
  int per_rank() const { return per_rank_; }
  // The next cube core that runs is the one that has waited longest, not the last one again.
  void end_turn(int rank, int block) { workers_[index_of(rank, block)].last_core = -1; }
  void ask(int rank, int block, const Work& work);
  // Gives free workers their next work. Call when nothing else can happen at `now`.
  // Returns the work that began with this call and had not run before. `more` says what it takes
  // beyond what was asked for, because of what the worker did before.
  std::vector<Work> dispatch(Picoseconds now, const std::function<Picoseconds(const Work&)>& more);
  // A piece that dispatch() started has ended, identified by its flow's user. True: all of it.
  bool piece_done(std::uint64_t worker, Work& work);

  static bool is_piece(std::uint64_t user) { return (user & kPiece) != 0; }
  static std::uint64_t worker_of(std::uint64_t user) { return user & ~kPiece; }

 private:
  static constexpr std::uint64_t kPiece = std::uint64_t{1} << 63;

  struct Worker {
    std::deque<Work> vectors, cubes;
    Work current;
    bool busy = false;
    bool resumes = false;  // `current` has not ended; it waits for its next piece
    Picoseconds piece = 0;
    int last_core = -1;
  };
  bool choose(Worker& worker, bool& fresh);

  int per_rank_;
  Picoseconds pause_;
  FlowNetwork& flows_;
  int flow_ = 0;
  std::vector<Worker> workers_;
};

}  // namespace tandem::sim
