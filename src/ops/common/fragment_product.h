// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/common/cube_pipeline.h"
#include "ops/common/fragments.h"

namespace tandem {

// What becomes of the result of a tile.
struct TileOutput {
  OutputType type = OutputType::bf16;
  bool adds_bias = false;
};

// Multiplies one tile whose rows come from several ranks, in the form that the plan names: one
// product over all fragments, or one call per rank, each with parameters of its own.
void run_tile(CubeCore& core, CubePipeline& pipeline, const Plan& plan,
              const FragmentList& fragments, const Tile& tile, TileOutput output);

}  // namespace tandem
