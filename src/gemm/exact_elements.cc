// SPDX-License-Identifier: Apache-2.0
#include "gemm/exact_elements.h"

#include "mx/reference_product.h"

namespace tandem::gemm {

ExactElements::ExactElements(const PackedRows::Impl& rows, const WeightSegment& segment,
                             std::int64_t first, std::int64_t count, Start start,
                             Accumulators accumulators)
    : rows_(rows), segment_(segment), first_(first), count_(count), accumulators_(accumulators) {
  for (std::int64_t column : segment.exact_columns) {
    if (column >= first && column < first + count) columns_.push_back(column - first);
  }
  if (start == Start::from_zero) return;
  for_each([&](const MxMatrix&, std::int64_t, std::int64_t row, std::int64_t column) {
    stored_.push_back(accumulators.values[row * accumulators.pitch + column]);
  });
}

// Calls visit(part, row of the part, row, column) with each element, row by row.
template <typename Visit>
void ExactElements::for_each(Visit visit) const {
  if (columns_.empty() && rows_.exact_count == 0) return;
  std::int64_t row = 0;
  for (const MxMatrix& part : rows_.parts) {
    for (std::int64_t part_row = 0; part_row < part.rows; ++part_row, ++row) {
      if (rows_.exact[static_cast<std::size_t>(row)] != 0) {
        for (std::int64_t column = 0; column < count_; ++column) visit(part, part_row, row, column);
      } else {
        for (std::int64_t column : columns_) visit(part, part_row, row, column);
      }
    }
  }
}

bool ExactElements::covers_all() const {
  return rows_.exact_count == rows_.rows || static_cast<std::int64_t>(columns_.size()) == count_;
}

void ExactElements::finish(Pacer& pacer) {
  // Measured on one core at 3 GHz: below 4 ns a term and 200 ns a call.
  const std::int64_t element_ns = 4 * segment_.k + 200;
  std::size_t next = 0;
  for_each([&](const MxMatrix& part, std::int64_t part_row, std::int64_t row, std::int64_t column) {
    const float sum = exact_segment(part, part_row, segment_.canonical, first_ + column);
    const float stored = stored_.empty() ? 0.0f : stored_[next++];
    accumulators_.values[row * accumulators_.pitch + column] = stored + sum;
    pacer.spend(element_ns);
  });
}

}  // namespace tandem::gemm
