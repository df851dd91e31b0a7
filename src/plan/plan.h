// SPDX-License-Identifier: Apache-2.0
// The answer to a Problem: everything the host, the writers and the readers must agree on. A
// kernel takes no decision of its own, and a plan knows no rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/view.h"
#include "plan/comm_plan.h"
#include "plan/tiling.h"
#include "tandem/problem.h"

namespace tandem {

// Flag ids by round: first + (round mod slots) mod modulus. Constant where modulus is 1.
struct FlagIds {
  int first = 0;
  int modulus = 1;
  int slots = 0;  // 0: the round itself

  int at(std::int64_t round) const {
    const std::int64_t index = slots > 0 ? round % slots : round;
    return first + static_cast<int>(index % modulus);
  }
};

// Who tells whom within a block. The producer of round t takes one release first if t ≥ lag; the
// consumer releases round t only if t + lag < rounds. 0: nobody releases.
struct FlagPlan {
  FlagIds ready;    // producer → consumer (reduce-scatter: flag A, all remote rows are stored)
  FlagIds own;      // all-gather: own rows, pre-fired; reduce-scatter: flag B, own rows are stored
  FlagIds release;  // consumer → producer
  int lag = 0;
};

// Which vector cores communicate: the first or the last `jobs` blocks.
enum class CommBlocks : std::uint8_t { first, last };

// A run of rows of the virtual left operand with its own tile grid.
enum class RegionRanks : std::uint8_t { own, remote, all };
struct Region {
  std::string_view name;  // head, main, tail, round
  int round = 0;          // whose flag it waits for; −1: the pre-fired one
  RegionRanks ranks = RegionRanks::all;
  Slice rows;                    // of each rank's chunk
  std::int64_t padded_rows = 0;  // rows of a fragment in the grid; 0: as many as it really has
};

// The tiles of every core for one shape of region, computed here so that a kernel only walks.
struct Grid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::vector<Tile>> tiles;  // [core]
};

struct UbBuffer {
  std::string_view name;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

// The incremental reduction of reduce-scatter.
struct ReductionPlan {
  int cores = 0;                     // blocks 0 … cores − 1 reduce
  std::int64_t segment_columns = 0;  // columns of one pass; the last may be short
  std::int64_t segments = 0;
  std::int64_t batch_rows = 0;  // rows of one pass
  std::int64_t source_offset[2] = {0, 0};
  std::int64_t wide_offset[2] = {0, 0};
  std::int64_t sum_offset = 0;
  std::int64_t out_offset = 0;
  std::vector<UbBuffer> map;
  std::int64_t ub_bytes = 0;
};

struct Plan {
  Problem problem;
  Device device;
  int ranks = 0;
  int blocks = 0;
  int jobs = 0;
  CommBlocks comm_blocks = CommBlocks::first;
  std::vector<Slice> slices;     // rounds: rows of the largest chunk
  std::int64_t padded_rows = 0;  // of an all-gather tail; 0: none
  int slots = 0;                 // ring slots in use; 0: none
  std::vector<CommPlan> comm;    // [0] data, [1] scales where they travel
  FlagPlan flags;
  Tiling tiling_full, tiling_head, tiling_tail;
  std::vector<Region> regions;  // in the order in which a cube core visits them
  std::vector<Grid> grids;
  std::vector<int> grid_of_region;  // [region × grid_ranks + rank mod grid_ranks]
  int grid_ranks = 1;
  ReductionPlan reduction;
  SumOrder order = SumOrder::panel;
  std::int64_t stream_rows = 0;   // tiles of as many rows read each weight once; 0: none does
  std::int64_t window_bytes = 0;  // per rank, data and scales
  std::int64_t window_scale_offset = 0;
  std::int64_t staging_bytes = 0;     // largest rank
  std::uint64_t epochs = 0;           // barrier values used in a launch, at most
  std::vector<std::string> notes;     // what was chosen or clamped, and why
  std::vector<std::string> warnings;  // risk hints; never a refusal
  std::vector<std::string> unsound;   // why this variant is wrong by design; run refuses it

  int rounds() const { return static_cast<int>(slices.size()); }
  // Peers read what they need where it lies: A, or partial rows, are in the window.
  bool is_direct() const { return problem.transfer == Transfer::direct; }
  bool has_a_in_window() const {
    return is_direct() && problem.op != OperatorKind::matmul_reduce_scatter;
  }
  std::int64_t private_staging_bytes() const { return is_direct() ? 0 : staging_bytes; }
  // The job of a block, or −1 where its vector core does not communicate.
  int job_of(int block) const {
    const int job = comm_blocks == CommBlocks::first ? block : blocks - 1 - block;
    return job < jobs ? job : -1;
  }
  const std::vector<Tile>& tiles(int region, int rank, int core) const {
    return grids[grid_of_region[region * grid_ranks + rank % grid_ranks]].tiles[core];
  }
  const Tiling& tiling_of_round(int round) const;

  // Shapes by rank.
  Slice rows_of(int rank) const;        // rows of C of rank (reduce-scatter: of the total)
  Slice k_of(int rank) const;           // K segment of rank (all-to-all), or all of K
  Slice columns_of(int rank) const;     // columns of its product (matmul-all-gather: own part)
  std::int64_t a_rows(int rank) const;  // rows of A on rank
  std::int64_t c_rows(int rank) const;  // rows of C on rank
  int k_segments() const;               // segments of B
};

}  // namespace tandem
