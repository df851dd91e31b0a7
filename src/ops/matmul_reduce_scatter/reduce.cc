// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul_reduce_scatter/reduce.h"

#include <algorithm>

#include "plan/partition.h"

namespace tandem::matmul_reduce_scatter {
namespace {

UbTensor tensor(std::int64_t offset, std::int64_t rows, std::int64_t columns,
                std::int64_t element_bytes) {
  return {offset, rows, columns, columns * element_bytes, element_bytes};
}

}  // namespace

Reducer::Reducer(VectorCore& core, const Plan& plan)
    : core_(core), plan_(plan), reduces_(core.block() < plan.reduction.cores) {}

void Reducer::begin() {
  if (reduces_) core_.set_event(EventKind::mte3_v, 0);
}

void Reducer::end() {
  if (reduces_) core_.wait_event(EventKind::mte3_v, 0);
}

void Reducer::reduce(int round) {
  if (!reduces_) return;
  const ReductionPlan& reduction = plan_.reduction;
  const Slice rows = plan_.comm[0].rows(core_.rank(), round);
  const Slice share = split_evenly(rows.count, reduction.cores, core_.block());
  for (std::int64_t row = share.first; row < share.end(); row += reduction.batch_rows) {
    const Slice batch{rows.first + row, std::min(reduction.batch_rows, share.end() - row)};
    for (std::int64_t first = 0; first < plan_.problem.n; first += reduction.segment_columns) {
      const std::int64_t count = std::min(reduction.segment_columns, plan_.problem.n - first);
      reduce_pass(round, batch, {first, count});
    }
  }
}

// Where `rank`'s partial rows lie: the own ones in staging, the others' in the window, or all in
// the staging of whose they are.
View Reducer::source(int rank, int round, Slice rows, Slice columns) const {
  const int self = core_.rank();
  const std::int64_t element = element_bytes(plan_.problem.staging);
  if (rank == self || plan_.is_direct()) {
    const std::int64_t pitch = plan_.problem.n * element;
    const std::int64_t first = plan_.rows_of(self).first + rows.first;
    return View{rank, Buffer::staging, first * pitch, rows.count, pitch, pitch}.slice_columns(
        columns.first * element, columns.count * element);
  }
  const Slice round_rows = plan_.comm[0].rows(self, round);
  return window_view(plan_.comm[0], self, rank, round)
      .slice_rows(rows.first - round_rows.first, rows.count)
      .slice_columns(columns.first * element, columns.count * element);
}

// A strided copy beyond the device's limit drops rows silently, so such rows go one by one where
// the plan says so; within the limit the batch is one copy.
void Reducer::load(UbTensor destination, View rows) {
  const bool strided = rows.pitch != rows.row_bytes;
  if (!strided || plan_.problem.strided == StridedCopy::rows32) {
    core_.load(destination, rows);
    return;
  }
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    UbTensor part = destination;
    part.offset += row * destination.pitch;
    part.rows = 1;
    core_.load(part, rows.slice_rows(row, 1));
  }
}

void Reducer::reduce_pass(int round, Slice rows, Slice columns) {
  const ReductionPlan& reduction = plan_.reduction;
  const std::int64_t staging_bytes = element_bytes(plan_.problem.staging);
  const std::int64_t out_bytes = element_bytes(plan_.problem.dtype_c);
  const UbTensor sum = tensor(reduction.sum_offset, rows.count, columns.count, 4);
  const UbTensor out = tensor(reduction.out_offset, rows.count, columns.count, out_bytes);
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    const int slot = rank % 2;
    const UbTensor source_tensor =
        tensor(reduction.source_offset[slot], rows.count, columns.count, staging_bytes);
    const UbTensor wide = tensor(reduction.wide_offset[slot], rows.count, columns.count, 4);
    if (rank >= 2) core_.wait_event(EventKind::v_mte2, slot);
    load(source_tensor, source(rank, round, rows, columns));
    core_.set_event(EventKind::mte2_v, slot);
    core_.wait_event(EventKind::mte2_v, slot);
    const Accumulate mode = rank == 0 ? Accumulate::init : Accumulate::add;
    core_.accumulate(sum, wide, source_tensor, mode);
    core_.set_event(EventKind::v_mte2, slot);
  }
  core_.wait_event(EventKind::v_mte2, 0);
  if (plan_.ranks >= 2) core_.wait_event(EventKind::v_mte2, 1);
  core_.wait_event(EventKind::mte3_v, 0);
  core_.convert(out, sum);
  core_.set_event(EventKind::v_mte3, 0);
  core_.wait_event(EventKind::v_mte3, 0);
  const std::int64_t pitch = plan_.problem.n * out_bytes;
  const View c{core_.rank(),
               Buffer::c,
               rows.first * pitch + columns.first * out_bytes,
               rows.count,
               columns.count * out_bytes,
               pitch};
  core_.store(c, out);
  core_.set_event(EventKind::mte3_v, 0);
}

}  // namespace tandem::matmul_reduce_scatter
