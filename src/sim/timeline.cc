// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline.h"

#include <algorithm>
#include <cstring>

namespace tandem::sim {
namespace {

struct Interval {
  Picoseconds begin = 0;
  Picoseconds end = 0;
};

void merge(std::vector<Interval>& intervals) {
  std::ranges::sort(intervals, {}, &Interval::begin);
  std::vector<Interval> merged;
  for (const Interval& next : intervals) {
    if (!merged.empty() && next.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, next.end);
    } else {
      merged.push_back(next);
    }
  }
  intervals = std::move(merged);
}

// Time in `waits` that no interval of `busy` covers; both merged.
Picoseconds uncovered(const std::vector<Interval>& waits, const std::vector<Interval>& busy) {
  Picoseconds total = 0;
  std::size_t first = 0;
  for (const Interval& wait : waits) {
    while (first < busy.size() && busy[first].end <= wait.begin) ++first;
    Picoseconds from = wait.begin;
    for (std::size_t i = first; i < busy.size() && busy[i].begin < wait.end; ++i) {
      total += std::max<Picoseconds>(0, busy[i].begin - from);
      from = std::max(from, busy[i].end);
    }
    total += std::max<Picoseconds>(0, wait.end - from);
  }
  return total;
}

// The pipes' work of a cube core, and its stands at flags.
struct CubeTime {
  std::vector<Interval> busy, flags;
  Picoseconds last = 0;
};

PipeUse& pipe_of(RankUse& use, const TimelineTrack& track) {
  for (PipeUse& pipe : use.pipes) {
    if (pipe.cube == track.cube && pipe.pipe == track.pipe) return pipe;
  }
  use.pipes.push_back({.cube = track.cube, .pipe = track.pipe, .busy = 0, .waits = {}});
  return use.pipes.back();
}

}  // namespace

std::vector<RankUse> use_of(const Timeline& timeline, int blocks) {
  std::vector<RankUse> uses(timeline.ranks.size());
  std::vector<CubeTime> cubes(timeline.ranks.size() * blocks);
  for (const TimelineSlice& slice : timeline.slices) {
    const TimelineTrack& track = timeline.tracks[slice.track];
    pipe_of(uses[track.rank], track).busy += slice.work;
    if (!track.cube || track.pipe == "S" || slice.end == slice.begin) continue;
    CubeTime& cube = cubes[track.rank * blocks + track.block];
    cube.busy.push_back({slice.begin, slice.end});
    cube.last = std::max(cube.last, slice.end);
  }
  for (const TimelineWait& wait : timeline.waits) {
    const TimelineTrack& track = timeline.tracks[wait.track];
    pipe_of(uses[track.rank], track).waits[static_cast<int>(wait.cause)] += wait.end - wait.begin;
    if (!track.cube || wait.cause != Cause::flag) continue;
    cubes[track.rank * blocks + track.block].flags.push_back({wait.begin, wait.end});
  }
  for (std::size_t rank = 0; rank < uses.size(); ++rank) {
    Picoseconds last = 0;
    for (int block = 0; block < blocks; ++block) {
      CubeTime& cube = cubes[rank * blocks + block];
      // A core that is done takes its last flags too; nothing of it waits for them.
      for (Interval& wait : cube.flags) wait.end = std::min(wait.end, cube.last);
      std::erase_if(cube.flags, [](const Interval& wait) { return wait.end <= wait.begin; });
      merge(cube.busy);
      merge(cube.flags);
      uses[rank].waits_for_peers += uncovered(cube.flags, cube.busy) / blocks;
      last = std::max(last, cube.last);
    }
    uses[rank].tail = timeline.ranks[rank].end - last;
  }
  return uses;
}

std::vector<PathStep> critical_path(const Timeline& timeline) {
  std::vector<PathStep> path;
  std::int64_t at = -1;
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const bool later = at < 0 || timeline.slices[i].end > timeline.slices[at].end;
    if (later && timeline.slices[i].end <= timeline.makespan) at = static_cast<std::int64_t>(i);
  }
  Picoseconds time = timeline.makespan;
  Cause cause = Cause::start;
  while (at >= 0) {
    const TimelineSlice& slice = timeline.slices[at];
    if (slice.end < time) path.push_back({-1, cause, slice.end, time});
    time = std::min(time, slice.end);
    const Picoseconds begin = std::min(slice.released, time);
    if (begin < time) path.push_back({at, slice.cause, begin, time});
    time = begin;
    cause = slice.cause;
    at = slice.by;
  }
  if (time > 0) path.push_back({-1, cause, 0, time});
  std::ranges::reverse(path);
  return path;
}

std::vector<PathShare> path_shares(const Timeline& timeline, const std::vector<PathStep>& path) {
  std::vector<PathShare> shares;
  for (const PathStep& step : path) {
    PathShare share{.pipe = "latency", .cube = false, .what = to_string(step.cause), .site = {}};
    if (step.slice >= 0) {
      const TimelineSlice& slice = timeline.slices[step.slice];
      const TimelineTrack& track = timeline.tracks[slice.track];
      share = {.pipe = track.pipe, .cube = track.cube, .what = slice.name, .site = slice.site};
    }
    const auto same = [&](const PathShare& other) {
      return other.pipe == share.pipe && other.cube == share.cube && other.what == share.what &&
             other.site.line == share.site.line &&
             std::strcmp(other.site.file, share.site.file) == 0;
    };
    auto found = std::ranges::find_if(shares, same);
    if (found == shares.end()) found = shares.insert(shares.end(), share);
    found->time += step.end - step.begin;
    ++found->steps;
  }
  std::ranges::stable_sort(shares, std::ranges::greater{}, &PathShare::time);
  return shares;
}

}  // namespace tandem::sim
