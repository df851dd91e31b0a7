// SPDX-License-Identifier: Apache-2.0
// How long an operation takes on a device, and what it passes through: docs/machine-time.md.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/device.h"
#include "base/timeline.h"
#include "sim/flow.h"
#include "sim/op.h"
#include "sim/operand_cache.h"
#include "sim/worker_cost.h"

namespace tandem::sim {

// Which kind of core costs nothing, to see what the other one takes alone.
enum class FreeCores : std::uint8_t { none, cube, vector };

// Moves `bytes` through flow class `flow` (−1: nothing to move), then takes `time` more.
struct Service {
  int flow = -1;
  double bytes = 0;
  Picoseconds time = 0;
  int write_back = -1;  // flow class in which the same bytes go on to memory, awaited by nobody
};

class CostModel {
 public:
  CostModel(const Device& device, int ranks, FreeCores free, FlowNetwork& flows);

  const DeviceCosts& costs() const { return costs_; }
  bool shared_workers() const { return shared_workers_; }
  bool is_free(bool vector) const {
    return free_ == (vector ? FreeCores::vector : FreeCores::cube);
  }
  // A time in nanoseconds that a core of this kind pays.
  Picoseconds time(std::int64_t nanoseconds, bool vector) const {
    return is_free(vector) ? 0 : nanoseconds * 1000;
  }

  // Part of a load after which its product may begin: what half of L1 holds.
  double head_of(const LoadShape& shape) const;
  Service load(const Op& op, const LoadShape& shape, int rank, TimelineRank& totals);
  Picoseconds stage(const LoadShape& shape) const;
  Picoseconds product(const LoadShape& shape) const;
  // FIX, MTE2 and MTE3 of vector cores, V.
  Service pipe(const Op& op, int rank);
  Service transfer(const Op& op, int rank, int peer);  // op.core on `rank` posted it

  // Of devices with shared workers; what a core that costs nothing does is not asked of them.
  WorkerCosts& workers() { return workers_; }

  std::vector<TimelineResource> resources() const { return named_; }

 private:
  int resource(const std::string& name, int rank, std::int64_t mb_s);
  // How bytes go through a rank's memory: of 16 bytes `misses` reach it, `weight` times each.
  struct MemoryPath {
    int kind = 0;
    int rank = 0;
    int misses = 16;
    int weight = 1;
    std::int64_t cap_mb_s = 0;  // of the pipe
  };
  // From one rank's memory into another's.
  struct LinkPath {
    int from = 0;
    int to = 0;
    int core = 0;       // that posted it
    bool reads = true;  // memory of `from`
    int weight = 1;     // of memory accesses at `to`
  };
  int memory_flow(const MemoryPath& path);
  int link_flow(const LinkPath& path);
  Service through_memory(const MemoryPath& path, double bytes);
  Service through_link(const LinkPath& path, double bytes);
  Picoseconds cycles(double count) const;

  DeviceCosts costs_;
  std::int64_t l1_bytes_;
  bool shared_workers_;
  FreeCores free_;
  FlowNetwork& flows_;
  std::vector<OperandCache> caches_;
  WorkerCosts workers_;
  std::vector<int> hbm_, l2_, egress_, ingress_;
  std::unordered_map<std::uint64_t, int> links_;
  std::unordered_map<int, int> senders_;  // by core
  std::unordered_map<std::uint64_t, int> classes_;
  std::vector<TimelineResource> named_;
};

}  // namespace tandem::sim
