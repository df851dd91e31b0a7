// SPDX-License-Identifier: Apache-2.0
// Comparison of one rank's C with the scalar reference: the bits of every element, and the bound
// of docs/numerics.md section 9 against the product in FP64.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cases/inputs.h"
#include "ops/operator.h"
#include "plan/plan.h"
#include "tandem/case.h"

namespace tandem {

// C as one launch left it.
struct LaunchResult {
  int launch = 0;
  std::vector<std::uint8_t> c;
};

struct Verification {
  std::int64_t elements = 0;
  std::int64_t differing = 0;  // elements that some result has wrong
  std::optional<Difference> first;
  double ulp_max = 0;
  double bound_ratio = 0;
  std::int64_t rows = 0;
  std::int64_t exact_rows = 0;
};

struct VerifyOptions {
  std::int64_t exact_work_max = std::int64_t{1} << 33;
  std::int64_t step_work_max = std::int64_t{1} << 29;  // products of one step
};

// Goes through the rows of C in steps, as many on every rank, so that ranks can meet in between and
// memory stays small. Operands of peers are asked of the source, rows by rows.
class Verifier {
 public:
  Verifier(const Plan& plan, const OperandSource& source, int rank, const VerifyOptions& options);

  std::int64_t steps() const { return steps_; }
  void run_step(std::int64_t step, std::span<const LaunchResult> results);
  const Verification& verification() const { return found_; }

  // What every byte of C holds before a launch.
  static constexpr std::uint8_t kPoison = 0xFF;

 private:
  // Rows of the rank's chunk that a step covers; C has them once, or once per source rank.
  Slice rows_of_step(std::int64_t step) const;
  Reference make_reference(Slice rows, bool wants_exact) const;
  void compare_row(const std::uint8_t* want, std::int64_t row, const LaunchResult& result);
  void measure_row(const Reference& want, std::int64_t want_row, std::int64_t row,
                   const LaunchResult& result);
  Difference describe(std::int64_t row, std::int64_t column) const;

  const Plan& plan_;
  const OperandSource& source_;
  int rank_;
  std::int64_t row_bytes_;  // of C
  std::int64_t step_rows_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t exact_stride_ = 1;  // every so many steps the FP64 product is formed too
  std::vector<MxRows> columns_;    // B, one or one per rank
  std::vector<std::vector<float>> biases_;
  Verification found_;
};

// All steps at once.
Verification verify(const Plan& plan, const OperandSource& source, int rank,
                    std::span<const LaunchResult> results, const VerifyOptions& options = {});

}  // namespace tandem
