// SPDX-License-Identifier: Apache-2.0
#include "host/host_channel.h"

#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "gemm/convert.h"
#include "host/launch_site.h"

namespace tandem::host {
namespace {

class LoadStoreChannel final : public Channel {
 public:
  LoadStoreChannel(LaunchSite& site, int peer) : site_(site), peer_(peer) {}

  void write_nbi(View destination, View source, Site) override {
    TANDEM_CHECK(destination.rank == peer_, "a write goes to the channel's peer");
    copy(destination, source);
  }

  void read_nbi(View destination, View source, Site) override {
    TANDEM_CHECK(source.rank == peer_, "a read comes from the channel's peer");
    copy(destination, source);
  }

  void write_notify_nbi(View destination, View source, EpochSlot slot, std::uint64_t value,
                        Site) override {
    copy(destination, source);
    RankArea& area = *site_.rank().area_of(peer_);
    EpochWord* words = slot.kind == EpochSlot::Kind::arrived ? area.arrived : area.core;
    words[slot.index].value.store(site_.epoch_base() + value, std::memory_order_release);
    ring(area);
  }

  void write_reduce_nbi(View destination, View source, Site) override {
    const OutputType type = type_of(destination);
    const std::int64_t count = destination.row_bytes / element_bytes(type);
    std::vector<float> sums(count);
    for (std::int64_t row = 0; row < destination.rows; ++row) {
      std::byte* target = site_.resolve(destination) + row * destination.pitch;
      gemm::widen_row(target, type, count, sums.data());
      gemm::widen_add_row(site_.resolve(source) + row * source.pitch, type, count, sums.data());
      gemm::store_row(sums.data(), nullptr, count, type, target);
    }
  }

  void write_value_nbi(View destination, std::uint32_t value, Site) override {
    for (std::int64_t row = 0; row < destination.rows; ++row) {
      std::byte* target = site_.resolve(destination) + row * destination.pitch;
      for (std::int64_t i = 0; i + 4 <= destination.row_bytes; i += 4) {
        std::memcpy(target + i, &value, 4);
      }
    }
  }

  std::uint64_t fetch_add(View word, std::uint64_t value, Site) override {
    auto* target = reinterpret_cast<std::uint64_t*>(site_.resolve(word));
    return std::atomic_ref<std::uint64_t>(*target).fetch_add(value);
  }

  void drain(Site) override {}  // every copy is done when its call returns

 private:
  OutputType type_of(const View& view) const {
    return site_.launch().extents[static_cast<std::size_t>(view.buffer)].type;
  }

  void copy(const View& destination, const View& source) {
    TANDEM_CHECK(destination.rows == source.rows && destination.row_bytes == source.row_bytes,
                 cat("transfer from ", to_string(source), " to ", to_string(destination)));
    std::byte* to = site_.resolve(destination);
    const std::byte* from = site_.resolve(source);
    if (destination.pitch == destination.row_bytes && source.pitch == source.row_bytes) {
      std::memcpy(to, from, source.bytes());
      return;
    }
    for (std::int64_t row = 0; row < source.rows; ++row) {
      std::memcpy(to + row * destination.pitch, from + row * source.pitch, source.row_bytes);
    }
  }

  LaunchSite& site_;
  int peer_;
};

}  // namespace

std::vector<std::unique_ptr<Channel>> make_host_channels(LaunchSite& site, CoreState& core) {
  auto channels = make_link_channels(site, core);
  for (int peer = 0; peer < site.rank().ranks(); ++peer) {
    const bool own = peer == site.rank().rank();
    if (own || site.rank().area_of(peer) == nullptr) continue;
    channels[peer] = std::make_unique<LoadStoreChannel>(site, peer);
  }
  return channels;
}

}  // namespace tandem::host
