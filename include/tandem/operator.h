// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/problem.h"
#include "tandem/types.h"
#include "tandem/world.h"

namespace tandem {

// An MX operand, not owned. Codes are row-major in the layout of the problem: A is [rows, k], or
// [k, rows] with trans_a; B is [k, n], or [n, k] with trans_b. Scales are always canonical: one
// row of scale_bytes(k) bytes per row of A or column of B.
struct MxOperand {
  const std::uint8_t* codes = nullptr;
  const std::uint8_t* scales = nullptr;
};

// Where an operand may be written.
struct MxPlace {
  std::uint8_t* codes = nullptr;
  std::uint8_t* scales = nullptr;
};

// Scale bytes of k elements: 2·ceil(k/64), one byte per group of 32; a pad byte is never read.
constexpr std::int64_t scale_bytes(std::int64_t k) { return (k + 63) / 64 * 2; }

// What one rank holds: extents in elements.
struct Shapes {
  std::int64_t a_rows = 0;
  std::int64_t a_k = 0;
  std::int64_t b_k = 0;
  std::int64_t b_columns = 0;
  std::int64_t c_rows = 0;
  std::int64_t c_columns = 0;
};

// The shapes that `rank` holds; see the table at Problem. The problem must be legal.
Shapes shapes_of(const Problem& problem, int rank);

// A fused operator on one rank: planned, agreed with the other ranks, with its windows allocated.
// Run it again and again.
class Operator {
 public:
  // Collective. Throws Error{refused} with all reasons, the same on all ranks, or
  // Error{environment} if a rank cannot allocate its window.
  Operator(World& world, const Problem& problem);
  ~Operator();
  Operator(Operator&&) noexcept;
  Operator& operator=(Operator&&) noexcept;

  const Problem& problem() const;
  Shapes shapes() const;
  // The plan as text.
  std::string plan() const;
  int rounds() const;
  std::int64_t window_bytes() const;   // shared memory of this rank
  std::int64_t weights_bytes() const;  // packed B of this rank; 0 before prepare()

  // Collective: the next runs have `m` as the problem's m, at most what the operator was made for.
  // Re-plans at the first use of an m; windows and weights stay.
  void set_m(std::int64_t m);
  // Where peers read this rank's A: with Transfer::direct of all-gather-matmul or all-to-all-matmul
  // and without trans_a; else null. Holds until set_m(). run() copies A to this place unless `a`
  // points to it already: write A there before each run, and nothing is copied. It is not to be
  // written to during a run; afterwards nobody reads it any more.
  MxPlace window_a() const;
  // Packs B, once for all runs. `b` may be freed afterwards.
  void prepare(const MxOperand& b);
  // Collective: one launch. `c` is [c_rows, c_columns] of dtype_c, row-major; `bias` is FP32
  // [c_columns], or null where the problem has none (or C no columns). Throws Error{timeout,
  // lost_rank or cancelled}; the world is lost then, and `c` undefined.
  void run(const MxOperand& a, void* c, const float* bias = nullptr);
  // prepare(b), then run(a, c, bias).
  void run(const MxOperand& a, const MxOperand& b, void* c, const float* bias = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The operators by name: `problem.op` is set for you.
template <OperatorKind kind>
class NamedOperator : public Operator {
 public:
  static NamedOperator create(World& world, Problem problem) {
    problem.op = kind;
    problem.ranks = world.size();
    return NamedOperator(world, problem);
  }

 private:
  using Operator::Operator;
};
using AllToAllMatmul = NamedOperator<OperatorKind::all_to_all_matmul>;
using AllGatherMatmul = NamedOperator<OperatorKind::all_gather_matmul>;
using MatmulAllGather = NamedOperator<OperatorKind::matmul_all_gather>;
using MatmulReduceScatter = NamedOperator<OperatorKind::matmul_reduce_scatter>;

// The reference twin: C of `rank`, computed alone by the scalar product from the operands of all
// ranks, in the order of sums that the operator's plan fixes. Equal to Operator::run to the bit.
std::vector<std::uint8_t> reference(const Problem& problem, const std::vector<MxOperand>& a,
                                    const std::vector<MxOperand>& b,
                                    const std::vector<const float*>& bias, int rank);

}  // namespace tandem
