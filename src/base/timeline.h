// SPDX-License-Identifier: Apache-2.0
// What happened when in a timed run: slices of work on tracks, waits, and which slice each of them
// had to wait for. Times are integer picoseconds from the start of the run.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/site.h"
#include "base/strings.h"

namespace tandem {

using Picoseconds = std::int64_t;

// Why something began no earlier.
enum class Cause : std::uint8_t {
  start,  // the launch
  pipe,   // the operation before it in its queue
  issue,  // the scalar stream had not asked for it
  flag,
  event,
  data,   // operands on their way into the core
  queue,  // the queue was full
  drain,  // transfers in flight
  epoch,  // a word that a peer stores
  sync_all,
  idle,    // its own queues still worked
  worker,  // the worker ran another core
};
inline constexpr int kCauses = 12;

constexpr std::string_view to_string(Cause cause) {
  constexpr std::array<std::string_view, kCauses> kNames{"start", "pipe",     "issue", "flag",
                                                         "event", "data",     "queue", "drain",
                                                         "epoch", "sync_all", "idle",  "worker"};
  return kNames[static_cast<std::size_t>(cause)];
}

// A pipe of a core, its scalar stream, or a channel.
struct TimelineTrack {
  int rank = 0;
  int block = 0;
  bool cube = false;
  int peer = -1;          // of a channel
  std::string_view pipe;  // "S", "MTE2", …, "channel"

  // "cube 3 MTE2", "vector 0 to rank 2"
  std::string name() const {
    const std::string core = cat(cube ? "cube " : "vector ", block);
    return peer < 0 ? cat(core, " ", pipe) : cat(core, " to rank ", peer);
  }
};

struct TimelineSlice {
  int track = 0;
  std::string_view name;
  Picoseconds begin = 0;
  Picoseconds end = 0;
  Picoseconds work = 0;  // of it; a product may stand while operands arrive
  std::int64_t bytes = 0;
  Site site;
  std::int64_t by = -1;  // slice that it waited for
  Cause cause = Cause::start;
  Picoseconds released = 0;  // when that constraint was gone
};

struct TimelineWait {
  int track = 0;
  Cause cause = Cause::start;
  Picoseconds begin = 0;
  Picoseconds end = 0;
  Site site;
  std::int64_t by = -1;
};

// Use of a shared resource from `time` on, until its next sample.
struct TimelineSample {
  int resource = 0;
  Picoseconds time = 0;
  double bytes_per_ps = 0;
};

struct TimelineResource {
  std::string name;  // "rank 0 HBM"
  int rank = 0;
  double capacity = 0;  // bytes per picosecond
};

struct TimelineRank {
  Picoseconds end = 0;
  std::int64_t mte2_bytes = 0;  // into the cube cores
  std::int64_t hbm_bytes = 0;   // of them past the shared cache
  std::int64_t fix_bytes = 0;
  std::int64_t sent_bytes = 0;
  std::int64_t transfers = 0;
  std::int64_t products = 0;
  std::int64_t syncs = 0;  // flags, events and sync_all of vector cores
  std::int64_t parameter_builds = 0;
};

struct Timeline {
  bool finished = false;
  Picoseconds makespan = 0;
  std::vector<TimelineTrack> tracks;
  std::vector<TimelineSlice> slices;
  std::vector<TimelineWait> waits;
  std::vector<TimelineResource> resources;
  std::vector<TimelineSample> samples;
  std::vector<TimelineRank> ranks;
  std::uint64_t events = 0;
};

}  // namespace tandem
