// SPDX-License-Identifier: Apache-2.0
// Where the operands of a case come from. Every rank can ask for the rows of any other: the
// reference needs them, and nobody sends operands around for that.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/view.h"
#include "mx/matrix.h"
#include "tandem/inputs.h"

namespace tandem {

// MX rows in canonical form, packed: rows of A, or columns of B.
class MxRows {
 public:
  MxRows(ElementFormat format, std::int64_t rows, std::int64_t k);

  std::uint8_t* codes(std::int64_t row) { return codes_.data() + row * k_; }
  std::uint8_t* scales(std::int64_t row) { return scales_.data() + row * scale_row_bytes(k_); }
  MxMatrix view() const;
  std::vector<std::uint8_t> take_codes() { return std::move(codes_); }
  std::vector<std::uint8_t> take_scales() { return std::move(scales_); }

 private:
  ElementFormat format_;
  std::int64_t rows_;
  std::int64_t k_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint8_t> scales_;
};

class OperandSource {
 public:
  virtual ~OperandSource() = default;

  // Writes rows of A of `rank` to `out` from row `at` on. Pad bytes of scales become 0.
  virtual void fill_a(int rank, Slice rows, MxRows& out, std::int64_t at) const = 0;
  // The same for columns of B, as rows.
  virtual void fill_b(int rank, Slice columns, MxRows& out, std::int64_t at) const = 0;
  // The bias that `rank` passes: [n] if the problem has one, else empty.
  virtual std::vector<float> bias(int rank) const = 0;
};

// Draws every row from (seed, operand, rank, row) alone, so that any row can be drawn by itself.
std::unique_ptr<OperandSource> make_generator(const Problem& problem, const InputOptions& options);

// All columns of B of `rank`.
MxRows columns_of_b(const Problem& problem, const OperandSource& source, int rank);

// The operands of `rank` in the layout of the problem.
Operands lay_out(const Problem& problem, const OperandSource& source, int rank);

}  // namespace tandem
