// SPDX-License-Identifier: Apache-2.0
#include "comm/collective_comm.h"
#include "ops/all_to_all_matmul/all_to_all_matmul.h"
#include "ops/common/cube_pipeline.h"
#include "ops/common/fragments.h"
#include "ops/common/lent_operands.h"

namespace tandem::all_to_all_matmul {
namespace {

// Which sources a pass over all tiles adds up.
enum class Pass { all, own_only, remote_only, own_then_remote };

class CubeKernel {
 public:
  CubeKernel(CubeCore& core, const Plan& plan)
      : core_(core), plan_(plan), cursor_(core, plan), pipeline_(core, plan) {}

  // Both passes of local matmul 1 walk the same grids, so a tile is added to by the core that
  // stored it.
  void run(Pass pass, StoreMode mode) {
    for (int region = 0; region < static_cast<int>(plan_.regions.size()); ++region) {
      for (const Tile& tile : plan_.tiles(region, core_.rank(), core_.block())) {
        run_tile(plan_.regions[region].round, tile, pass, mode);
      }
    }
  }

  void finish() {
    pipeline_.finish();
    cursor_.advance_to(plan_.rounds() - 1);
    if (plan_.is_direct()) return_operands(core_, plan_);
  }

 private:
  void run_tile(int round, const Tile& tile, Pass pass, StoreMode mode) {
    const int self = core_.rank();
    Accumulate accumulate = Accumulate::init;
    if (pass == Pass::own_then_remote || pass == Pass::own_only) {
      product(self, round, tile, accumulate);
      accumulate = Accumulate::add;
    }
    if (pass != Pass::own_only) {
      cursor_.advance_to(round);
      for (int source = 0; source < plan_.ranks; ++source) {
        if (source == self && pass != Pass::all) continue;
        product(source, round, tile, accumulate);
        accumulate = Accumulate::add;
      }
    }
    const std::int64_t element = element_bytes(plan_.problem.dtype_c);
    const std::int64_t pitch = plan_.problem.n * element;
    const std::int64_t row = plan_.slices[round].first + tile.rows.first;
    const std::int64_t offset = row * pitch + tile.columns.first * element;
    const View c{self, Buffer::c, offset, tile.rows.count, tile.columns.count * element, pitch};
    const bool adds_bias = mode == StoreMode::plain;
    pipeline_.store({&c, 1}, mode, adds_bias ? bias_of(plan_, self, tile.columns) : std::nullopt);
    pipeline_.next_tile();
  }

  void product(int source, int round, const Tile& tile, Accumulate accumulate) {
    const int self = core_.rank();
    const Slice& slice = plan_.slices[round];
    const Slice rows{plan_.rows_of(self).first + slice.first, slice.count};
    Fragment a = source == self || plan_.is_direct() ? own_rows(plan_, source, rows)
                                                     : window_rows(plan_, self, source, round);
    a.data = a.data.slice_rows(tile.rows.first, tile.rows.count);
    a.scale = a.scale.slice_rows(tile.rows.first, tile.rows.count);
    pipeline_.product({&a, 1}, {source, tile.columns}, accumulate);
  }

  CubeCore& core_;
  const Plan& plan_;
  RoundCursor cursor_;
  CubePipeline pipeline_;
};

}  // namespace

void cube(CubeCore& core, const Plan& plan) {
  CubeKernel kernel(core, plan);
  switch (plan.problem.local_matmul) {
    case 0:
      kernel.run(Pass::all, StoreMode::plain);
      break;
    case 1:
      kernel.run(Pass::own_only, StoreMode::plain);
      // The own part's stores must have landed before the rest is added onto them.
      core.pipe_barrier(Pipe::all);
      if (plan.ranks > 1) kernel.run(Pass::remote_only, StoreMode::atomic_add);
      break;
    case 2:
      kernel.run(Pass::own_then_remote, StoreMode::plain);
      break;
  }
  kernel.finish();
}

void vector(VectorCore& core, const Plan& plan) {
  const int job = plan.job_of(core.block());
  TeamBarrier barrier(core, plan.ranks, plan.jobs, job, plan.problem.barrier);
  if (plan.is_direct()) return lend_operands(core, plan, barrier);
  CollectiveComm data(core, plan.comm[0], barrier, plan.jobs, job);
  CollectiveComm scale(core, plan.comm[1], barrier, plan.jobs, job);
  data.init(BarrierMode::none);
  scale.init(BarrierMode::device);
  for (int round = 0; round < plan.rounds(); ++round) {
    if (plan.flags.lag > 0 && round >= plan.flags.lag) {
      core.wait_flag(FlagId{plan.flags.release.at(round - plan.flags.lag)});
    }
    scale.commit();
    data.commit();
    data.wait(BarrierMode::device);
    core.sync_all();
    core.set_flag(Pipe::mte3, FlagId{plan.flags.ready.at(round)});
  }
  scale.finalize(BarrierMode::none);
  data.finalize(BarrierMode::none);
}

}  // namespace tandem::all_to_all_matmul
