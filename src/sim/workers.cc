// SPDX-License-Identifier: Apache-2.0
#include "sim/workers.h"

#include <algorithm>

namespace tandem::sim {

Workers::Workers(int ranks, int per_rank, std::int64_t processors, Picoseconds pause,
                 FlowNetwork& flows)
    : per_rank_(per_rank), pause_(pause), flows_(flows), workers_(ranks * per_rank) {
  // A flow of work: a picosecond of it each picosecond on a processor of one's own.
  const int resource = flows_.add_resource(static_cast<double>(processors));
  const FlowNetwork::Use use{resource, 1};
  flow_ = flows_.class_of({&use, 1}, 1);
}

void Workers::ask(int rank, int block, const Work& work) {
  Worker& worker = workers_[index_of(rank, block)];
  (work.vector ? worker.vectors : worker.cubes).push_back(work);
}

// What the worker runs next, into `current`.
bool Workers::choose(Worker& worker, bool& fresh) {
  fresh = true;
  if (!worker.vectors.empty()) {
    if (worker.resumes) {
      worker.cubes.push_front(worker.current);
      worker.resumes = false;
    }
    worker.current = worker.vectors.front();
    worker.vectors.pop_front();
    return true;
  }
  if (worker.resumes) {
    worker.resumes = false;
    fresh = false;
    return true;
  }
  if (worker.cubes.empty()) return false;
  auto next = std::ranges::find_if(worker.cubes,
                                   [&](const Work& work) { return work.core == worker.last_core; });
  if (next == worker.cubes.end()) next = worker.cubes.begin();
  worker.current = *next;
  worker.cubes.erase(next);
  fresh = worker.current.asked >= 0;
  return true;
}

std::vector<Work> Workers::dispatch(Picoseconds now,
                                    const std::function<Picoseconds(const Work&)>& more) {
  std::vector<Work> begun;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    bool fresh = false;
    if (worker.busy || !choose(worker, fresh)) continue;
    Work& work = worker.current;
    if (fresh) {
      work.left += more(work);
      begun.push_back(work);
    }
    work.asked = -1;  // it has begun
    if (!work.vector) worker.last_core = work.core;
    const bool pauses = work.share == Share::pauses && pause_ > 0;
    worker.piece = pauses ? std::min(work.left, pause_) : work.left;
    worker.busy = true;
    flows_.start(flow_, static_cast<double>(worker.piece), kPiece | i, now);
  }
  return begun;
}

bool Workers::piece_done(std::uint64_t index, Work& work) {
  Worker& worker = workers_[index];
  worker.busy = false;
  worker.current.left -= worker.piece;
  work = worker.current;
  worker.resumes = work.left > 0;
  return !worker.resumes;
}

}  // namespace tandem::sim
