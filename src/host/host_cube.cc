// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "gemm/convert.h"
#include "gemm/tile_product.h"
#include "host/host_core.h"
#include "host/launch_site.h"

namespace tandem::host {
namespace {

bool same_fragments(std::span<const Fragment> a, std::span<const Fragment> b) {
  return std::ranges::equal(a, b, [](const Fragment& x, const Fragment& y) {
    return x.data == y.data && x.scale == y.scale;
  });
}

}  // namespace

HostCube::HostCube(LaunchSite& site, int rank, int block)
    : CubeCore(rank, block), site_(site), state_(site, "cube", block) {}

void HostCube::set_flag(Pipe, FlagId id, Site site) {
  state_.set_flag(*partner_, id);
  // Blocks of a worker advance round by round, so that communication starts early.
  Wait turn;
  turn.kind = Wait::Kind::turn;
  turn.site = site;
  state_.suspend_until(turn);
}

void HostCube::wait_flag(FlagId id, Site site) {
  // What the flag announces may have changed the rows behind an unchanged view.
  RowCache& cache = site_.row_cache(block());
  if (cache.owner == this) cache.owner = nullptr;
  state_.take_flag(id, site);
  const int index = id.value & 15;
  busy_until_ = std::max(busy_until_, state_.set_at[index][(state_.taken[index] - 1) & 15]);
}

void HostCube::gate(Pipe, FlagId id, Site site) { wait_flag(id, site); }

void HostCube::sync_all(Site site) {
  state_.meet(site_.sync_point(false), site);
  busy_until_ = Clock::now();
}

void HostCube::pipe_barrier(Pipe, Site) {}
void HostCube::set_event(EventKind, int, Site) {}
void HostCube::wait_event(EventKind, int, Site) {}
void HostCube::scalar(ScalarWork, Site) {}
void HostCube::cache_hint(CacheHint, Site) {}

void HostCube::load(int slot, std::span<const Fragment> a, WeightTile b, Site) {
  slots_[slot].a.assign(a.begin(), a.end());
  slots_[slot].b = b;
}

void HostCube::pack(const Loaded& loaded) {
  RowCache& cache = site_.row_cache(block());
  if (cache.owner == this && same_fragments(cache.fragments, loaded.a)) return;
  std::array<MxMatrix, kRanksMax> parts;
  for (std::size_t i = 0; i < loaded.a.size(); ++i) {
    const Fragment& fragment = loaded.a[i];
    TANDEM_DCHECK(fragment.data.rows == fragment.scale.rows, "rows and scale rows differ");
    parts[i] = {.format = site_.launch().numerics.dtype_a,
                .rows = fragment.data.rows,
                .k = fragment.data.row_bytes,
                .codes = reinterpret_cast<const std::uint8_t*>(site_.resolve(fragment.data)),
                .pitch = fragment.data.pitch,
                .scales = reinterpret_cast<const std::uint8_t*>(site_.resolve(fragment.scale)),
                .scale_pitch = fragment.scale.pitch};
  }
  cache.rows.pack({parts.data(), loaded.a.size()}, site_.launch().numerics.order);
  cache.owner = this;
  cache.fragments.assign(loaded.a.begin(), loaded.a.end());
}

void HostCube::sleep_for(const Loaded& loaded, double ns_per_product, Site site) {
  double products = 0;
  for (const Fragment& fragment : loaded.a) {
    products += static_cast<double>(fragment.data.rows) *
                static_cast<double>(fragment.data.row_bytes) *
                static_cast<double>(loaded.b.columns.count);
  }
  const std::chrono::nanoseconds duration(static_cast<std::int64_t>(products * ns_per_product));
  // Not from now: an accelerator's core is not held up by what its worker does meanwhile, and a
  // wake-up that comes late delays nothing after it.
  busy_until_ += duration;
  Wait nap;
  nap.kind = Wait::Kind::until;
  nap.until = busy_until_;
  nap.site = site;
  if (!nap.ready()) state_.suspend_until(nap);
}

void HostCube::matmul(int slot, int half, Accumulate accumulate, Site site) {
  const Loaded& loaded = slots_[slot];
  Half& target = halves_[half];
  if (const double ns = site_.rank().options().ns_per_product; ns > 0) {
    target.rows = 0;
    for (const Fragment& fragment : loaded.a) target.rows += fragment.data.rows;
    target.columns = loaded.b.columns;
    target.sums.resize(static_cast<std::size_t>(target.rows * target.columns.count));
    sleep_for(loaded, ns, site);
    return;
  }
  pack(loaded);
  target.rows = site_.row_cache(block()).rows.rows();
  target.columns = loaded.b.columns;
  const auto needed = static_cast<std::size_t>(target.rows * target.columns.count);
  if (target.sums.size() < needed) target.sums.resize(needed);
  const std::function<void()> pause = [this, site] {
    Wait turn;
    turn.kind = Wait::Kind::pause;
    turn.site = site;
    state_.suspend_until(turn);
  };
  gemm::multiply(site_.row_cache(block()).rows, *site_.bindings().weights, loaded.b.segment,
                 loaded.b.columns.first, loaded.b.columns.count, site_.launch().numerics.order,
                 accumulate == Accumulate::init ? gemm::Start::from_zero : gemm::Start::from_stored,
                 {target.sums.data(), target.columns.count}, pause);
}

void HostCube::store(int half, std::span<const View> c, StoreMode mode, std::optional<View> bias,
                     Site) {
  const Half& source = halves_[half];
  const float* addend = bias ? reinterpret_cast<const float*>(site_.resolve(*bias)) : nullptr;
  std::int64_t row = 0;
  for (const View& view : c) {
    const OutputType type = site_.launch().extents[static_cast<std::size_t>(view.buffer)].type;
    std::byte* address = site_.resolve(view);
    for (std::int64_t i = 0; i < view.rows; ++i, ++row) {
      const float* sums = source.sums.data() + row * source.columns.count;
      if (mode == StoreMode::atomic_add) {
        gemm::add_row(sums, source.columns.count, type, address + i * view.pitch);
      } else {
        gemm::store_row(sums, addend, source.columns.count, type, address + i * view.pitch);
      }
    }
  }
  TANDEM_DCHECK(row == source.rows, "a tile was stored to views of another height");
}

}  // namespace tandem::host
