// SPDX-License-Identifier: Apache-2.0
#include "comm/collective_comm.h"
#include "ops/all_gather_matmul/all_gather_matmul.h"
#include "ops/common/fragment_product.h"
#include "ops/common/lent_operands.h"

namespace tandem::all_gather_matmul {
namespace {

bool has_ring(const Plan& plan) { return plan.slots > 0; }

// Flags are counted from 0, the pre-fired one; the flag of round q is number q + 1.
int flag_id(const Plan& plan, int index) {
  return index == 0 ? plan.flags.own.at(0) : plan.flags.ready.at(index - 1);
}

class CubeKernel {
 public:
  CubeKernel(CubeCore& core, const Plan& plan) : core_(core), plan_(plan), pipeline_(core, plan) {}

  void run() {
    take_flag();
    for (int region = 0; region < static_cast<int>(plan_.regions.size()); ++region) {
      run_region(region);
    }
    pipeline_.finish();
    advance_to(plan_.rounds());
    release_ring_up_to(plan_.rounds());
    if (plan_.is_direct()) return_operands(core_, plan_);
  }

 private:
  void run_region(int index) {
    const Region& region = plan_.regions[index];
    // Whatever came before this round is multiplied: its slots may be overwritten. The release
    // comes before the wait, and from cores without a tile too, or a full ring would not turn.
    release_ring_up_to(region.round);
    advance_to(region.round + 1);
    const auto& tiles = plan_.tiles(index, core_.rank(), core_.block());
    if (tiles.empty()) return;
    const FragmentList fragments = fragments_of(region);
    core_.scalar(ScalarWork::fragment_list);
    const TileOutput output{plan_.problem.dtype_c, true};
    for (const Tile& tile : tiles) run_tile(core_, pipeline_, plan_, fragments, tile, output);
  }

  FragmentList fragments_of(const Region& region) const {
    const int self = core_.rank();
    const std::int64_t pitch = plan_.problem.n * element_bytes(plan_.problem.dtype_c);
    FragmentList list;
    for (int source = 0; source < plan_.ranks; ++source) {
      if (region.ranks == RegionRanks::own && source != self) continue;
      if (region.ranks == RegionRanks::remote && source == self) continue;
      const Fragment a = source == self || plan_.is_direct()
                             ? own_rows(plan_, source, region.rows)
                             : window_rows(plan_, self, source, region.round);
      const std::int64_t row = source * plan_.problem.m + region.rows.first;
      const View c{self, Buffer::c, row * pitch, region.rows.count, pitch, pitch};
      list.add(a, c, region.padded_rows > 0 ? region.padded_rows : region.rows.count);
    }
    return list;
  }

  void take_flag() {
    core_.gate(Pipe::mte2, FlagId{flag_id(plan_, taken_)});
    const bool depth = plan_.flags.lag > 0 && !has_ring(plan_);
    if (depth && taken_ + plan_.flags.lag < plan_.rounds() + 1) {
      core_.set_flag(Pipe::mte2, FlagId{plan_.flags.release.at(taken_)});
    }
    ++taken_;
  }

  void advance_to(int flag) {
    while (taken_ <= flag) take_flag();
  }

  // Tells the own vector core that rounds before `round` are consumed, where it will ask. On MTE2:
  // its loads are all that reads a slot, and its gates order cores that have no tile.
  void release_ring_up_to(int round) {
    if (!has_ring(plan_)) return;
    for (; released_ < round; ++released_) {
      if (released_ + plan_.slots >= plan_.rounds()) continue;
      core_.set_flag(Pipe::mte2, FlagId{plan_.flags.release.at(released_)});
    }
  }

  CubeCore& core_;
  const Plan& plan_;
  CubePipeline pipeline_;
  int taken_ = 0;
  int released_ = 0;
};

}  // namespace

void cube(CubeCore& core, const Plan& plan) { CubeKernel(core, plan).run(); }

void vector(VectorCore& core, const Plan& plan) {
  const int job = plan.job_of(core.block());
  TeamBarrier barrier(core, plan.ranks, plan.jobs, job, plan.problem.barrier);
  core.set_flag(Pipe::mte3, FlagId{flag_id(plan, 0)});
  if (plan.is_direct()) return lend_operands(core, plan, barrier);
  CollectiveComm data(core, plan.comm[0], barrier, plan.jobs, job);
  CollectiveComm scale(core, plan.comm[1], barrier, plan.jobs, job);
  data.init(BarrierMode::none);
  scale.init(BarrierMode::device);
  for (int round = 0; round < plan.rounds(); ++round) {
    if (has_ring(plan) && round >= plan.slots) {
      // The own cube core has consumed the slot; after sync_all every core of the rank has, and
      // after the barrier every rank.
      core.wait_flag(FlagId{plan.flags.release.at(round - plan.slots)});
      core.sync_all();
      barrier.cross_device();
    } else if (!has_ring(plan) && plan.flags.lag > 0 && round + 1 >= plan.flags.lag) {
      core.wait_flag(FlagId{plan.flags.release.at(round + 1 - plan.flags.lag)});
    }
    scale.commit();
    data.commit();
    data.wait(BarrierMode::device);
    core.sync_all();
    core.set_flag(Pipe::mte3, FlagId{flag_id(plan, round + 1)});
  }
  scale.finalize(BarrierMode::none);
  data.finalize(BarrierMode::none);
}

}  // namespace tandem::all_gather_matmul
