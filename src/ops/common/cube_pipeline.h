// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "machine/core.h"
#include "plan/plan.h"

namespace tandem {

// The event discipline of a cube core: two L1 slots and one or two L0C halves in turn, each
// reused only after its reader is done. One tile is product(s), then store(s), then next_tile().
class CubePipeline {
 public:
  CubePipeline(CubeCore& core, const Plan& plan)
      : core_(core), halves_(plan.tiling_full.l0c_buffers), stream_rows_(plan.stream_rows) {}

  // One K segment of the current tile.
  void product(std::span<const Fragment> a, WeightTile b, Accumulate accumulate);
  // Writes the current tile out; may be called more than once.
  void store(std::span<const View> c, StoreMode mode, std::optional<View> bias);
  void next_tile();
  // Takes the events that nobody waited for. Every kernel ends with it.
  void finish();

 private:
  void begin_store();

  void hint(std::span<const Fragment> a);

  CubeCore& core_;
  int halves_;
  std::int64_t stream_rows_;
  CacheHint hint_ = CacheHint::keep;
  int slot_ = 0;
  int half_ = 0;
  bool slot_used_[2] = {false, false};
  bool half_used_[2] = {false, false};
  bool tile_open_ = false;
  bool storing_ = false;
};

}  // namespace tandem
