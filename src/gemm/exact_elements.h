// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "gemm/pacer.h"
#include "gemm/packed.h"

namespace tandem::gemm {

// The elements of a tile that take docs/numerics.md section 4's exact path. The fast kernels run
// over all elements; what they leave in these is replaced by the stored value plus the exact sum.
class ExactElements {
 public:
  // Remembers the stored values; to be made before the kernels run.
  ExactElements(const PackedRows::Impl& rows, const WeightSegment& segment, std::int64_t first,
                std::int64_t count, Start start, Accumulators accumulators);

  bool covers_all() const;  // the fast kernels have nothing to do
  void finish(Pacer& pacer);

 private:
  template <typename Visit>
  void for_each(Visit visit) const;

  const PackedRows::Impl& rows_;
  const WeightSegment& segment_;
  std::int64_t first_;
  std::int64_t count_;
  Accumulators accumulators_;
  std::vector<std::int64_t> columns_;  // of the tile, ascending
  std::vector<float> stored_;          // in for_each's order; empty if all are zero
};

}  // namespace tandem::gemm
