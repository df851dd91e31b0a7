// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/strings.h"
#include "gemm/convert.h"
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

// The reduction: sums of rows that lie in windows and staging.
OutputType HostVector::type_of(Buffer buffer) const {
  return site_.launch().extents[static_cast<std::size_t>(buffer)].type;
}

const HostVector::Alias& HostVector::alias_of(std::int64_t offset) const {
  for (const Alias& alias : aliases_) {
    if (alias.offset == offset) return alias;
  }
  TANDEM_CHECK(false, cat("UB tensor at ", offset, " was never loaded"));
}

void HostVector::accumulate(UbTensor sum, UbTensor, UbTensor source, Accumulate accumulate, Site) {
  const Alias& alias = alias_of(source.offset);
  const bool is_whole = alias.rows >= source.rows;  // else its rows were loaded one by one
  const bool goes_on = !pending_.rows.empty() && pending_.sum.offset == sum.offset &&
                       !pending_.converts && pending_.rows.front().type == alias.type;
  if (is_whole && accumulate == Accumulate::init) {
    compute_pending();
    pending_.sum = sum;
    pending_.rows.push_back(alias);
  } else if (is_whole && goes_on) {
    pending_.rows.push_back(alias);
  } else {
    compute_pending();
    accumulate_now(sum, source, accumulate);
  }
}

void HostVector::accumulate_now(const UbTensor& sum, const UbTensor& source,
                                Accumulate accumulate) {
  const Alias* alias = &alias_of(source.offset);
  std::int64_t first = 0;  // row of `source` where the alias begins
  for (std::int64_t row = 0; row < source.rows; ++row) {
    if (row - first >= alias->rows) {  // rows that were loaded one by one
      alias = &alias_of(source.offset + row * source.pitch);
      first = row;
    }
    const std::byte* values = alias->address + (row - first) * alias->pitch;
    float* sums = reinterpret_cast<float*>(ub(sum, row));
    if (accumulate == Accumulate::init) {
      gemm::widen_row(values, alias->type, source.columns, sums);
    } else {
      gemm::widen_add_row(values, alias->type, source.columns, sums);
    }
  }
}

void HostVector::convert(UbTensor destination, UbTensor sum, Site) {
  if (!pending_.rows.empty() && pending_.sum.offset == sum.offset && !pending_.converts) {
    pending_.converts = true;
    pending_.out = destination;
  } else {
    compute_pending();
    convert_now(destination, sum);
  }
}

void HostVector::convert_now(const UbTensor& destination, const UbTensor& sum) {
  for (std::int64_t row = 0; row < sum.rows; ++row) {
    gemm::store_row(reinterpret_cast<const float*>(ub(sum, row)), nullptr, sum.columns,
                    type_of(Buffer::c), ub(destination, row));
  }
}

// The steps that were put off, one after the other, into UB.
void HostVector::compute_pending() {
  if (pending_.rows.empty()) return;
  const std::int64_t columns = pending_.sum.columns;
  for (std::int64_t row = 0; row < pending_.sum.rows; ++row) {
    gather_addresses(row);
    gemm::sum_rows(addresses_, pending_.rows.front().type, columns, OutputType::fp32,
                   ub(pending_.sum, row));
  }
  const bool converts = pending_.converts;
  forget_pending();
  if (converts) convert_now(pending_.out, pending_.sum);
}

// All steps at once, from where the rows lie to where the result goes. UB keeps neither the sum
// nor the result: a kernel stores a result once.
void HostVector::store_pending(const View& destination) {
  std::byte* address = site_.resolve(destination);
  for (std::int64_t row = 0; row < destination.rows; ++row) {
    gather_addresses(row);
    gemm::sum_rows(addresses_, pending_.rows.front().type, pending_.sum.columns, type_of(Buffer::c),
                   address + row * destination.pitch);
  }
  forget_pending();
}

// Where row `row` of each tensor of the pending sum lies.
void HostVector::gather_addresses(std::int64_t row) {
  addresses_.clear();
  for (const Alias& alias : pending_.rows) {
    addresses_.push_back(alias.address + row * alias.pitch);
  }
}

void HostVector::forget_pending() {
  pending_.rows.clear();
  pending_.converts = false;
}

void HostVector::store(View destination, UbTensor source, Site) {
  const bool is_whole = destination.rows == source.rows && source.rows == pending_.sum.rows &&
                        source.columns == pending_.sum.columns;
  if (pending_.converts && pending_.out.offset == source.offset && is_whole) {
    return store_pending(destination);
  }
  compute_pending();
  std::byte* address = site_.resolve(destination);
  for (std::int64_t row = 0; row < destination.rows; ++row) {
    std::memcpy(address + row * destination.pitch, ub(source, row), destination.row_bytes);
  }
}

void HostVector::store_epoch(int peer, EpochSlot slot, std::uint64_t value, Site) {
  compute_pending();
  RankArea* area = site_.rank().area_of(peer);
  if (area == nullptr) {
    site_.rank().link()->store_word(peer, slot, site_.epoch_base() + value);
    return;
  }
  EpochWord* words = slot.kind == EpochSlot::Kind::arrived ? area->arrived : area->core;
  // Everything that this core wrote before is visible to whoever acquires the word.
  words[slot.index].value.store(site_.epoch_base() + value, std::memory_order_release);
  ring(*area);
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
