// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/types.h"

namespace tandem {

// Everything that is asked of an operator. Equal on all ranks.
//
// | operator              | A on rank r            | B on rank r      | C on rank r               |
// |-----------------------|------------------------|------------------|---------------------------|
// | all-to-all-matmul     | [R·m, k of rank r]     | [k, n], the same | [m, n]                    |
// | all-gather-matmul     | [m, k]                 | [k, n], its own  | [R·m, n]                  |
// | matmul-all-gather     | [m, k], the same       | [k, n of rank r] | [m, n]                    |
// | matmul-reduce-scatter | [m, k], its own        | [k, n], its own  | [m of rank r, n]          |
//
// A split k is cut in pieces of 64 (docs/numerics.md, section 2), split rows and columns evenly.
struct Problem {
  OperatorKind op = OperatorKind::all_gather_matmul;
  int ranks = 4;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  ElementFormat dtype_a = ElementFormat::e4m3;
  ElementFormat dtype_b = ElementFormat::e4m3;
  OutputType dtype_c = OutputType::bf16;
  OutputType staging = OutputType::bf16;  // partial results of reduce-scatter: bf16 or fp32
  bool trans_a = false;                   // A is given as [k, m]
  bool trans_b = false;                   // B is given as [n, k]
  bool bias = false;                      // FP32 [n]; in reduce-scatter rank 0 adds it
  int local_matmul = 0;                   // all-to-all: 0 fused, 1 own part first, 2 deferred wait

  std::optional<std::int64_t> tiles;      // rounds of communication
  std::optional<std::int64_t> tile_rows;  // rows of one round's slice; excludes `tiles`
  TailStrategy tail = TailStrategy::single;
  int slots = 0;  // ring slots of the window; 0: one per round
  std::optional<int> blocks;

  CoreMapping cores = CoreMapping::separate;
  FlagNumbering flags = FlagNumbering::counting;
  ReductionForm reduction = ReductionForm::batched;
  ProductForm product = ProductForm::fragments;
  UbManagement ub = UbManagement::fixed;
  StridedCopy strided = StridedCopy::rows32;
  BarrierLayout barrier = BarrierLayout::per_peer;
  FenceJobs fence = FenceJobs::all;
  // direct: peers read rows where they lie. All ranks must share memory; not for matmul-all-gather.
  Transfer transfer = Transfer::copy;
};

}  // namespace tandem
