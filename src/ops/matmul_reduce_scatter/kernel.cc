// SPDX-License-Identifier: Apache-2.0
#include "comm/collective_comm.h"
#include "ops/common/fragment_product.h"
#include "ops/matmul_reduce_scatter/matmul_reduce_scatter.h"
#include "ops/matmul_reduce_scatter/reduce.h"

namespace tandem::matmul_reduce_scatter {
namespace {

// Rows of every rank's segment in this round, own rank last, so that what others wait for is
// finished first. Column order of C stays that of the staging matrix.
FragmentList fragments_of_round(const Plan& plan, int self, int round) {
  const std::int64_t pitch = plan.problem.n * element_bytes(plan.problem.staging);
  FragmentList list;
  for (int i = 1; i <= plan.ranks; ++i) {
    const int segment = i == plan.ranks ? self : (i <= self ? i - 1 : i);
    const Slice rows = plan.comm[0].rows(segment, round);
    const std::int64_t first = plan.rows_of(segment).first + rows.first;
    const View staging{self, Buffer::staging, first * pitch, rows.count, pitch, pitch};
    const std::int64_t padded = plan.regions[round].padded_rows;
    list.add(own_rows(plan, self, {first, rows.count}), staging, padded > 0 ? padded : rows.count);
  }
  return list;
}

class CubeKernel {
 public:
  CubeKernel(CubeCore& core, const Plan& plan) : core_(core), plan_(plan), pipeline_(core, plan) {}

  void run_round(int round) {
    if (plan_.flags.lag > 0 && round >= plan_.flags.lag) {
      core_.wait_flag(FlagId{plan_.flags.release.at(round - plan_.flags.lag)});
    }
    const FragmentList fragments = fragments_of_round(plan_, core_.rank(), round);
    core_.scalar(ScalarWork::fragment_list);
    const std::int64_t own_first = fragments.first_row(plan_.ranks - 1);
    // Rank 0 alone adds the bias, or the sum would have it R times.
    const TileOutput output{plan_.problem.staging, core_.rank() == 0};
    bool told = false;
    for (const Tile& tile : plan_.tiles(round, core_.rank(), core_.block())) {
      if (!told && tile.rows.first >= own_first) {
        core_.set_flag(Pipe::fix, FlagId{plan_.flags.ready.at(round)});
        told = true;
      }
      run_tile(core_, pipeline_, plan_, fragments, tile, output);
    }
    // Also from cores without an own tile, or without any: the vector core waits for both flags.
    if (!told) core_.set_flag(Pipe::fix, FlagId{plan_.flags.ready.at(round)});
    core_.set_flag(Pipe::fix, FlagId{plan_.flags.own.at(round)});
  }

  void finish() { pipeline_.finish(); }

 private:
  CubeCore& core_;
  const Plan& plan_;
  CubePipeline pipeline_;
};

// The vector side. Roles are separate (communicating blocks and reducing blocks) or shared.
class VectorKernel {
 public:
  VectorKernel(VectorCore& core, const Plan& plan)
      : core_(core),
        plan_(plan),
        job_(plan.job_of(core.block())),
        barrier_(core, plan.ranks, plan.jobs, job_, plan.problem.barrier),
        fence_(core, plan.ranks, fence_jobs(), job_, plan.problem.barrier),
        partials_(core, plan.comm[0], barrier_, plan.jobs, job_),
        reducer_(core, plan) {}

  void run_separate() {
    begin();
    for (int round = 0; round < plan_.rounds(); ++round) {
      core_.wait_flag(FlagId{plan_.flags.ready.at(round)});
      core_.sync_all();
      send();
      if (round > 0) reducer_.reduce(round - 1);
      core_.sync_all();
      fence();
      core_.sync_all();
      core_.wait_flag(FlagId{plan_.flags.own.at(round)});
      release(round);
    }
    // Own rows of the last round: each core's flag covers only its own cube core.
    core_.sync_all();
    if (plan_.rounds() > 0) reducer_.reduce(plan_.rounds() - 1);
    end();
  }

  void run_shared() {
    begin();
    for (int round = 0; round < plan_.rounds(); ++round) {
      core_.wait_flag(FlagId{plan_.flags.ready.at(round)});
      core_.wait_flag(FlagId{plan_.flags.own.at(round)});
      core_.sync_all();
      send();
      core_.sync_all();
      fence();
      core_.sync_all();
      release(round);
      reducer_.reduce(round);
    }
    end();
  }

 private:
  // With one fencing job per rank it stands for all peers; the sync_all before and after it join
  // the cores it speaks for.
  int fence_jobs() const { return plan_.problem.fence == FenceJobs::first ? 1 : plan_.jobs; }

  void begin() {
    if (plan_.is_direct()) return reducer_.begin();
    partials_.init(BarrierMode::none);
    fence();  // protects the windows of the launch before
    if (plan_.problem.fence == FenceJobs::first) core_.sync_all();
    reducer_.begin();
  }
  void send() {
    if (plan_.is_direct()) return;  // the peers read staging
    partials_.commit();
    partials_.wait(BarrierMode::none);
  }
  void fence() { fence_.cross_device(); }
  void release(int round) {
    if (plan_.flags.lag > 0 && round + plan_.flags.lag < plan_.rounds()) {
      core_.set_flag(Pipe::mte3, FlagId{plan_.flags.release.at(round)});
    }
  }
  void end() {
    reducer_.end();
    if (plan_.is_direct()) {
      // All cores of all ranks have read: staging may be stored to again.
      core_.sync_all();
      return fence();
    }
    partials_.finalize(BarrierMode::none);
  }

  VectorCore& core_;
  const Plan& plan_;
  int job_;
  TeamBarrier barrier_;
  TeamBarrier fence_;
  CollectiveComm partials_;
  Reducer reducer_;
};

}  // namespace

void cube(CubeCore& core, const Plan& plan) {
  CubeKernel kernel(core, plan);
  for (int round = 0; round < plan.rounds(); ++round) kernel.run_round(round);
  kernel.finish();
}

void vector(VectorCore& core, const Plan& plan) {
  VectorKernel kernel(core, plan);
  if (plan.problem.cores == CoreMapping::separate) {
    kernel.run_separate();
  } else {
    kernel.run_shared();
  }
}

}  // namespace tandem::matmul_reduce_scatter
