// SPDX-License-Identifier: Apache-2.0
#include "comm/collective_comm.h"
#include "ops/common/cube_pipeline.h"
#include "ops/common/fragments.h"
#include "ops/matmul_all_gather/matmul_all_gather.h"

namespace tandem::matmul_all_gather {
namespace {

// Whether slots are overwritten in this launch, so that a release means "all ranks have read".
bool has_ring(const Plan& plan) { return plan.slots < plan.rounds(); }

// Rounds a cube core may be ahead of the releases: the ring's slots, or the flag depth.
int lag(const Plan& plan) { return has_ring(plan) ? plan.slots : plan.flags.lag; }

void run_tile(CubePipeline& pipeline, const Plan& plan, int rank, int round, const Tile& tile) {
  const std::int64_t element = element_bytes(plan.problem.dtype_c);
  const std::int64_t pitch = plan.problem.n * element;
  const Slice rows{plan.slices[round].first + tile.rows.first, tile.rows.count};
  const Fragment a = own_rows(plan, rank, rows);
  pipeline.product({&a, 1}, {0, tile.columns}, Accumulate::init);
  const std::int64_t column = tile.columns.first * element;
  const std::int64_t bytes = tile.columns.count * element;
  const Slice own = plan.columns_of(rank);
  // The bias covers all columns of C; the tile's start at the rank's own part.
  const auto bias = bias_of(plan, rank, {own.first + tile.columns.first, tile.columns.count});
  const View slot = window_view(plan.comm[0], rank, rank, round)
                        .slice_rows(tile.rows.first, tile.rows.count)
                        .slice_columns(column, bytes);
  const View c{rank,       Buffer::c, rows.first * pitch + own.first * element + column,
               rows.count, bytes,     pitch};
  if (plan.ranks > 1) pipeline.store({&slot, 1}, StoreMode::plain, bias);
  pipeline.store({&c, 1}, StoreMode::plain, bias);
  pipeline.next_tile();
}

}  // namespace

void cube(CubeCore& core, const Plan& plan) {
  CubePipeline pipeline(core, plan);
  for (int round = 0; round < plan.rounds(); ++round) {
    if (lag(plan) > 0 && round >= lag(plan)) {
      core.wait_flag(FlagId{plan.flags.release.at(round - lag(plan))});
    }
    for (const Tile& tile : plan.tiles(round, core.rank(), core.block())) {
      run_tile(pipeline, plan, core.rank(), round, tile);
    }
    core.set_flag(Pipe::fix, FlagId{plan.flags.ready.at(round)});
  }
  pipeline.finish();
}

void vector(VectorCore& core, const Plan& plan) {
  const int job = plan.job_of(core.block());
  TeamBarrier barrier(core, plan.ranks, plan.jobs, job, plan.problem.barrier);
  CollectiveComm columns(core, plan.comm[0], barrier, plan.jobs, job);
  columns.init(BarrierMode::none);
  for (int round = 0; round < plan.rounds(); ++round) {
    core.wait_flag(FlagId{plan.flags.ready.at(round)});
    // Every cube core of the rank has stored its part of the slice, not only the paired one.
    core.sync_all();
    columns.commit(BarrierMode::device);
    if (lag(plan) == 0 || round + lag(plan) >= plan.rounds()) continue;
    if (has_ring(plan)) {
      // All ranks have read the slot, and all cores of this rank know.
      columns.wait(BarrierMode::none);
      barrier.cross_device();
      core.sync_all();
    }
    core.set_flag(Pipe::mte3, FlagId{plan.flags.release.at(round)});
  }
  columns.wait(BarrierMode::none);
  columns.finalize(BarrierMode::device);
}

}  // namespace tandem::matmul_all_gather
