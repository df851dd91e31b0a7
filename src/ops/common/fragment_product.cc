// SPDX-License-Identifier: Apache-2.0
#include "ops/common/fragment_product.h"

#include <algorithm>

namespace tandem {
namespace {

void run_part(CubePipeline& pipeline, const TileOperands& part, Slice columns,
              std::optional<View> bias) {
  if (part.count == 0) return;
  pipeline.product(part.a_span(), {0, columns}, Accumulate::init);
  pipeline.store(part.c_span(), StoreMode::plain, bias);
  pipeline.next_tile();
}

}  // namespace

void run_tile(CubeCore& core, CubePipeline& pipeline, const Plan& plan,
              const FragmentList& fragments, const Tile& tile, TileOutput output) {
  const std::int64_t element = element_bytes(output.type);
  const auto bias =
      output.adds_bias ? bias_of(plan, core.rank(), tile.columns) : std::optional<View>{};
  if (plan.problem.product == ProductForm::fragments) {
    run_part(pipeline, fragments.slice(tile, element), tile.columns, bias);
    return;
  }
  for (int i = 0; i < fragments.count(); ++i) {
    const std::int64_t first = std::max(tile.rows.first, fragments.first_row(i));
    const std::int64_t end = std::min(tile.rows.end(), fragments.first_row(i + 1));
    if (first >= end) continue;
    core.scalar(ScalarWork::product_parameters);
    const Tile rows_of_one{{first, end - first}, tile.columns};
    run_part(pipeline, fragments.slice(rows_of_one, element), tile.columns, bias);
  }
}

}  // namespace tandem
