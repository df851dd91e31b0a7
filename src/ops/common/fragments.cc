// SPDX-License-Identifier: Apache-2.0
#include "ops/common/fragments.h"

#include <algorithm>

#include "mx/matrix.h"

namespace tandem {

void FragmentList::add(const Fragment& a, const View& c, std::int64_t grid_rows) {
  a_[count_] = a;
  c_[count_] = c;
  first_[count_] = grid_rows_;
  grid_rows_ += grid_rows;
  first_[++count_] = grid_rows_;
}

TileOperands FragmentList::slice(const Tile& tile, std::int64_t element_bytes) const {
  TileOperands part;
  for (int i = 0; i < count_; ++i) {
    const std::int64_t first = std::max(tile.rows.first, first_[i]) - first_[i];
    const std::int64_t end = std::min(tile.rows.end() - first_[i], a_[i].data.rows);
    if (first >= end) continue;
    const std::int64_t rows = end - first;
    part.a[part.count] = {a_[i].data.slice_rows(first, rows), a_[i].scale.slice_rows(first, rows)};
    part.c[part.count] =
        c_[i]
            .slice_rows(first, rows)
            .slice_columns(tile.columns.first * element_bytes, tile.columns.count * element_bytes);
    ++part.count;
  }
  return part;
}

std::optional<View> bias_of(const Plan& plan, int rank, Slice columns) {
  if (!plan.problem.bias) return std::nullopt;
  const std::int64_t bytes = columns.count * 4;
  return View{rank, Buffer::bias, columns.first * 4, 1, bytes, bytes};
}

Fragment own_rows(const Plan& plan, int rank, Slice rows) {
  const std::int64_t k = plan.k_of(rank).count;
  const std::int64_t scale_bytes = scale_row_bytes(k);
  return {{rank, Buffer::a, rows.first * k, rows.count, k, k},
          {rank, Buffer::a_scale, rows.first * scale_bytes, rows.count, scale_bytes, scale_bytes}};
}

Fragment window_rows(const Plan& plan, int rank, int source, int round) {
  return {window_view(plan.comm[0], rank, source, round),
          window_view(plan.comm[1], rank, source, round)};
}

void RoundCursor::advance_to(int round) {
  for (; next_ <= round; ++next_) {
    core_.gate(Pipe::mte2, FlagId{plan_.flags.ready.at(next_)});
    if (plan_.flags.lag > 0 && next_ + plan_.flags.lag < plan_.rounds()) {
      core_.set_flag(Pipe::mte2, FlagId{plan_.flags.release.at(next_)});
    }
  }
}

}  // namespace tandem
