// SPDX-License-Identifier: Apache-2.0
#include "ops/common/cube_pipeline.h"

namespace tandem {

void CubePipeline::product(std::span<const Fragment> a, WeightTile b, Accumulate accumulate) {
  if (!tile_open_) {
    if (half_used_[half_]) core_.wait_event(EventKind::fix_m, half_);
    tile_open_ = true;
  }
  if (slot_used_[slot_]) core_.wait_event(EventKind::mte1_mte2, slot_);
  slot_used_[slot_] = true;
  hint(a);
  core_.load(slot_, a, b);
  core_.set_event(EventKind::mte2_mte1, slot_);
  core_.wait_event(EventKind::mte2_mte1, slot_);
  core_.matmul(slot_, half_, accumulate);
  core_.set_event(EventKind::mte1_mte2, slot_);
  slot_ = 1 - slot_;
}

// Weights that nobody will read again in this launch need no place in the cache.
void CubePipeline::hint(std::span<const Fragment> a) {
  std::int64_t rows = 0;
  for (const Fragment& fragment : a) rows += fragment.data.rows;
  const bool streams = stream_rows_ > 0 && rows >= stream_rows_;
  const CacheHint wanted = streams ? CacheHint::stream : CacheHint::keep;
  if (wanted == hint_) return;
  hint_ = wanted;
  core_.cache_hint(wanted);
}

void CubePipeline::begin_store() {
  if (storing_) return;
  core_.set_event(EventKind::m_fix, half_);
  core_.wait_event(EventKind::m_fix, half_);
  storing_ = true;
}

void CubePipeline::store(std::span<const View> c, StoreMode mode, std::optional<View> bias) {
  begin_store();
  core_.store(half_, c, mode, bias);
}

void CubePipeline::next_tile() {
  core_.set_event(EventKind::fix_m, half_);
  half_used_[half_] = true;
  half_ = (half_ + 1) % halves_;
  tile_open_ = false;
  storing_ = false;
}

void CubePipeline::finish() {
  for (int slot = 0; slot < 2; ++slot) {
    if (slot_used_[slot]) core_.wait_event(EventKind::mte1_mte2, slot);
  }
  for (int half = 0; half < halves_; ++half) {
    if (half_used_[half]) core_.wait_event(EventKind::fix_m, half);
  }
}

}  // namespace tandem
