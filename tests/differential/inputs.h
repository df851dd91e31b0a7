// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "case.h"
#include "tandem/operator.h"

namespace tandem::differential {

// An MX operand as a user holds it: codes in the layout of the problem, at an odd address, with
// pad scale bytes that would turn a sum into NaN if anything read them.
class Operand {
 public:
  // `rows` rows of A, or columns of B, of k elements each. `salt` tells operands of one case
  // apart. `as_columns`: the codes are stored [k, rows].
  Operand(std::int64_t rows, std::int64_t k, ElementFormat format, InputKind kind, bool as_columns,
          std::uint64_t salt);

  MxOperand view() const { return {codes_.data() + kMargin, scales_.data() + kMargin}; }
  // The scale byte of a group, and a code in canonical order, for tests that tamper with them.
  std::uint8_t& scale(std::int64_t row, std::int64_t group);
  std::uint8_t& code(std::int64_t row, std::int64_t k);

 private:
  static constexpr std::int64_t kMargin = 3;  // in front of and behind the data, poisoned

  std::int64_t rows_;
  std::int64_t k_;
  bool as_columns_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint8_t> scales_;
};

// The operands of all ranks. What the operator takes as equal on all ranks is equal.
class Inputs {
 public:
  Inputs(const Problem& problem, InputKind kind, std::uint64_t seed);

  MxOperand a(int rank) const { return a_of(rank).view(); }
  MxOperand b(int rank) const { return b_of(rank).view(); }
  const float* bias(int rank) const;
  Operand& a_operand(int rank) { return a_[a_.size() == 1 ? 0 : rank]; }
  Operand& b_operand(int rank) { return b_[b_.size() == 1 ? 0 : rank]; }

 private:
  const Operand& a_of(int rank) const { return a_[a_.size() == 1 ? 0 : rank]; }
  const Operand& b_of(int rank) const { return b_[b_.size() == 1 ? 0 : rank]; }

  std::vector<Operand> a_;  // one for all ranks, or one for each
  std::vector<Operand> b_;
  std::vector<std::vector<float>> bias_;
};

}  // namespace tandem::differential
