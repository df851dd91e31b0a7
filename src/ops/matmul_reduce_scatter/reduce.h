// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/core.h"
#include "plan/plan.h"

namespace tandem::matmul_reduce_scatter {

// The incremental reduction of one vector core: FP32 sums over ranks 0 … R−1, in that order, of
// the rows that a round brought; one rounding at the end. Each core owns whole rows.
class Reducer {
 public:
  Reducer(VectorCore& core, const Plan& plan);
  void begin();            // once before the first round
  void reduce(int round);  // this core's share of the round's rows; nothing on other cores
  void end();              // once after the last round

 private:
  void reduce_pass(int round, Slice rows, Slice columns);
  View source(int rank, int round, Slice rows, Slice columns) const;
  void load(UbTensor tensor, View rows);

  VectorCore& core_;
  const Plan& plan_;
  bool reduces_;
};

}  // namespace tandem::matmul_reduce_scatter
