// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/arms.h"

#include <algorithm>

#include "benchmarking/muted_cores.h"
#include "launches.h"
#include "world_impl.h"

namespace tandem {
namespace {

MxRows rows_of_a(const Problem& problem, const OperandSource& source, int rank) {
  const Shapes held = shapes_of(problem, rank);
  MxRows a(problem.dtype_a, held.a_rows, held.a_k);
  source.fill_a(rank, {0, held.a_rows}, a, 0);
  return a;
}

bool exchanges_first(OperatorKind op) {
  return op == OperatorKind::all_to_all_matmul || op == OperatorKind::all_gather_matmul;
}

}  // namespace

BenchArms::BenchArms(World& world, const BenchSetup& setup, SpinBarrier* near)
    : world_(world),
      setup_(setup),
      a_(rows_of_a(setup.problem, *setup.source, world.rank())),
      bias_(setup.source->bias(world.rank())),
      staging_(static_cast<std::size_t>(std::max(setup.plan.private_staging_bytes(),
                                                 setup.serial_plan.private_staging_bytes()))) {
  const Problem& problem = setup.problem;
  const Shapes held = shapes_of(problem, world.rank());
  c_.resize(static_cast<std::size_t>(
      multiply({held.c_rows, held.c_columns, element_bytes(problem.dtype_c)})));
  const MxRows b = columns_of_b(problem, *setup.source, world.rank());
  weights_ =
      std::make_unique<gemm::PackedWeights>(pack_weights(setup.plan, b.view(), setup.plan.order));
  windows_ = world.impl().rank->allocate_windows(
      std::max(setup.plan.window_bytes, setup.serial_plan.window_bytes));
  make_sites();
  // The baseline writes into its peers' memory, as a collective on one host does.
  if (!setup.has(BenchArm::baseline) || near == nullptr) return;
  if (sgemm_libraries(world.workers()).empty()) return;
  baseline_ = std::make_unique<Baseline>(world, setup.plan, a_.view(), b.view(),
                                         bias_.empty() ? nullptr : bias_.data(), *near);
}

BenchArms::~BenchArms() {
  baseline_.reset();
  world_.impl().rank->free_windows(windows_);
}

std::unique_ptr<host::LaunchSite> BenchArms::make_site(Launch launch) {
  World::Impl& world = world_.impl();
  return std::make_unique<host::LaunchSite>(*world.rank, *world.pool, std::move(launch), windows_);
}

void BenchArms::make_sites() {
  const int rank = world_.rank();
  fused_ = make_site(make_launch(setup_.plan, rank));
  products_ = make_site(products_of(make_launch(setup_.plan, rank)));
  transfers_ = make_site(transfers_of(make_launch(setup_.plan, rank)));
  serial_products_ = make_site(products_of(make_launch(setup_.serial_plan, rank)));
  serial_transfers_ = make_site(transfers_of(make_launch(setup_.serial_plan, rank)));
  const MxMatrix a = a_.view();
  const auto bind = [&](Buffer buffer, const void* address) {
    // Machines write to views of A only if a plan says so, and none does.
    bindings_.local[static_cast<std::size_t>(buffer)] =
        static_cast<std::byte*>(const_cast<void*>(address));
  };
  bind(Buffer::a, a.codes);
  bind(Buffer::a_scale, a.scales);
  bind(Buffer::bias, bias_.empty() ? nullptr : bias_.data());
  bind(Buffer::c, c_.data());
  bind(Buffer::staging, staging_.empty() ? nullptr : staging_.data());
  bindings_.weights = weights_.get();
}

void BenchArms::poison() {
  std::ranges::fill(c_, std::uint8_t{0xFF});
  std::ranges::fill(staging_, std::byte{0xFF});
  const auto rank = static_cast<std::size_t>(world_.rank());
  std::fill_n(windows_.addresses[rank], windows_.ranges[rank].bytes, std::byte{0xFF});
}

void BenchArms::run(BenchArm arm) {
  switch (arm) {
    case BenchArm::fused:
      return fused_->run(bindings_);
    case BenchArm::serial: {
      // Both halves work on the same windows and staging, so that C is complete at the end.
      const bool first = exchanges_first(setup_.problem.op);
      (first ? serial_transfers_ : serial_products_)->run(bindings_);
      host::Bindings second = bindings_;
      if (setup_.serial_plan.has_a_in_window()) {  // where the first half has put it
        second.local[static_cast<std::size_t>(Buffer::a)] = nullptr;
        second.local[static_cast<std::size_t>(Buffer::a_scale)] = nullptr;
      }
      (first ? serial_products_ : serial_transfers_)->run(second);
      return;
    }
    case BenchArm::baseline:
      return baseline_->run(c_.data());
    case BenchArm::compute:
      return products_->run(bindings_);
    case BenchArm::comm:
      return transfers_->run(bindings_);
  }
}

}  // namespace tandem
