// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>

#include "machine/core.h"
#include "plan/plan.h"

namespace tandem {

// The operands of one tile: fragments of A and, row for row, the places of C.
struct TileOperands {
  std::array<Fragment, kRanksMax> a;
  std::array<View, kRanksMax> c;
  int count = 0;

  std::span<const Fragment> a_span() const { return {a.data(), static_cast<std::size_t>(count)}; }
  std::span<const View> c_span() const { return {c.data(), static_cast<std::size_t>(count)}; }
};

// A virtual concatenation of rows of several ranks. Padding rows of a fragment take part in the
// grid and are neither read nor written.
class FragmentList {
 public:
  // Appends a fragment that takes `grid_rows` ≥ a.data.rows rows of the grid.
  void add(const Fragment& a, const View& c, std::int64_t grid_rows);
  // The parts of `tile`: C views are narrowed to its columns of `element_bytes` each.
  TileOperands slice(const Tile& tile, std::int64_t element_bytes) const;
  std::int64_t grid_rows() const { return grid_rows_; }
  // First grid row of fragment `index`.
  std::int64_t first_row(int index) const { return first_[index]; }
  int count() const { return count_; }

 private:
  std::array<Fragment, kRanksMax> a_;
  std::array<View, kRanksMax> c_;
  std::array<std::int64_t, kRanksMax + 1> first_{};
  int count_ = 0;
  std::int64_t grid_rows_ = 0;
};

// The bias of a tile's columns, where the problem has one and `rank` adds it.
std::optional<View> bias_of(const Plan& plan, int rank, Slice columns);

// Rows [first, first + count) of A on `rank`, with their scales.
Fragment own_rows(const Plan& plan, int rank, Slice rows);
// The rows of `round` that `source` put into the window of `rank`, with their scales.
Fragment window_rows(const Plan& plan, int rank, int source, int round);

// Takes the ready flags of rounds in order, each once, on MTE2, and keeps the depth rule: tells
// the producer that a round is taken while it may still have to wait for that.
class RoundCursor {
 public:
  RoundCursor(CubeCore& core, const Plan& plan) : core_(core), plan_(plan) {}
  // Waits for every round up to and including `round`.
  void advance_to(int round);

 private:
  CubeCore& core_;
  const Plan& plan_;
  int next_ = 0;
};

}  // namespace tandem
