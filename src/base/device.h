// SPDX-License-Identifier: Apache-2.0
// A device model: what a machine demands and offers. Rules that exist only for one device are
// data here, so that the planner has no special cases. Filled from devices/*.json.
#pragma once

#include <cstdint>
#include <string>

#include "base/device_costs.h"

namespace tandem {

enum class RoundsRule : std::uint8_t {
  balanced,    // slices differ by at most one row
  heads_tail,  // equal head slices and one tail
};

// Correctness rules of the device: each one refuses a problem. 0 means "no such rule".
struct DeviceRules {
  int ranks_max = 64;
  std::int64_t k_multiple = 0;            // of the K of one product
  std::int64_t scale_pairs_multiple = 0;  // ceil(K/64) must be a multiple of this
  std::int64_t n_multiple = 0;            // of a stored row, in elements
  std::int64_t tail_rows_multiple = 0;    // of a tail slice
  bool equal_parts = false;               // m, n or k must divide over the ranks where split
  bool empty_allowed = true;              // extents of 0
  int fragments_max = 64;                 // ranks in one virtually concatenated operand
  bool blocks_at_least_ranks = false;     // every rank needs its own communicating block
  bool reduce_core_needed = false;        // separate roles: blocks − jobs ≥ 1
  int round_id_max = 15;                  // highest flag id when ids number rounds
};

struct DeviceMemory {
  std::int64_t window_bytes = 0;    // per rank; 0: no limit but the host's memory
  std::int64_t ub_bytes = 0;        // unified buffer of a vector core, usable
  std::int64_t ub_guard_bytes = 0;  // communication area at its start
  std::int64_t l1_bytes = 0;
  std::int64_t l0a_bytes = 0;  // L0B is as large
  std::int64_t l0c_bytes = 0;
  int strided_rows_max = 0;  // rows of one strided copy; 0: no limit
};

struct Device {
  std::string name;
  std::string description;
  bool shared_workers = false;  // blocks share a few workers (host), or each has its cores
  int cores = 0;                // cube cores of a rank; 0: as many as the plan asks
  RoundsRule rounds = RoundsRule::balanced;
  DeviceRules rules;
  DeviceMemory memory;
  std::int64_t base_m = 0;  // fixed base block of the product; 0: the SWAT procedure
  std::int64_t base_n = 0;
  int rows_lane_max = 8;  // ranks that multiply at most so many rows sum in lane order
  int flag_depth = 14;    // rounds a producer may run ahead
  bool linked = false;    // some ranks reach others by a link alone; known of a world, not in files
  DeviceCosts costs;      // what things cost in time; rounds over a link depend on them
};

}  // namespace tandem
