// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "base/strings.h"
#include "host/host_channel.h"
#include "host/host_core.h"
#include "host/launch_site.h"
#include "host/link/link.h"

namespace tandem::host {

HostVector::HostVector(LaunchSite& site, int rank, int block)
    : VectorCore(rank, block), site_(site), state_(site, "vector", block) {
  channels_ = make_host_channels(site, state_);
}

void HostVector::set_flag(Pipe, FlagId id, Site) {
  compute_pending();
  state_.set_flag(*partner_, id);
}

void HostVector::wait_flag(FlagId id, Site site) { state_.take_flag(id, site); }
void HostVector::gate(Pipe, FlagId id, Site site) { state_.take_flag(id, site); }

void HostVector::sync_all(Site site) {
  compute_pending();
  state_.meet(site_.sync_point(true), site);
}

void HostVector::pipe_barrier(Pipe, Site) {}
void HostVector::set_event(EventKind, int, Site) {}
void HostVector::wait_event(EventKind, int, Site) {}
void HostVector::scalar(ScalarWork, Site) {}

Channel& HostVector::channel(int peer) {
  TANDEM_CHECK(peer != rank() && peer >= 0 && peer < static_cast<int>(channels_.size()),
               cat("channel to rank ", peer, " from rank ", rank()));
  return *channels_[peer];
}

std::byte* HostVector::ub(const UbTensor& tensor, std::int64_t row) {
  if (ub_.empty()) ub_.resize(site_.launch().ub_bytes);
  const std::int64_t end = tensor.offset + tensor.rows * tensor.pitch;
  TANDEM_CHECK(end <= site_.launch().ub_bytes, cat("UB tensor at ", tensor.offset, " ends at ", end,
                                                   " of ", site_.launch().ub_bytes, " bytes"));
  return ub_.data() + tensor.offset + row * tensor.pitch;
}

void HostVector::load(UbTensor destination, View source, Site) {
  std::erase_if(aliases_, [&](const Alias& alias) { return alias.offset == destination.offset; });
  aliases_.push_back({destination.offset, destination.rows, site_.resolve(source), source.pitch,
                      type_of(source.buffer)});
}

void HostVector::store_epoch(int peer, EpochSlot slot, std::uint64_t value, Site) {
  compute_pending();
  if (Link* link = site_.rank().link(); link != nullptr && peer != rank()) {
    link->store_word(peer, slot, site_.epoch_base() + value);
    return;
  }
  RankArea& area = site_.rank().control().ranks[peer];
  EpochWord* words = slot.kind == EpochSlot::Kind::arrived ? area.arrived : area.core;
  // Everything that this core wrote before is visible to whoever acquires the word.
  words[slot.index].value.store(site_.epoch_base() + value, std::memory_order_release);
  ring(area);
}

void HostVector::wait_epoch(EpochSlot slot, std::uint64_t value, Site site) {
  RankArea& area = site_.rank().area();
  EpochWord* words = slot.kind == EpochSlot::Kind::arrived ? area.arrived : area.core;
  Wait epoch;
  epoch.kind = Wait::Kind::epoch;
  epoch.word = &words[slot.index].value;
  epoch.want = site_.epoch_base() + value;
  epoch.id = slot.index;
  epoch.from_peer = slot.kind == EpochSlot::Kind::arrived;
  epoch.site = site;
  if (!epoch.ready()) state_.suspend_until(epoch);
}

}  // namespace tandem::host
