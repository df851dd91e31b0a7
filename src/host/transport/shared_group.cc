// SPDX-License-Identifier: Apache-2.0
#include "host/transport/shared_group.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "host/host_rank.h"
#include "host/reports/rank_name.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

// Zeroed memory is a valid one.
struct GroupArea {
  ControlArea control;
  std::atomic<std::uint32_t> ended;  // members that use it no more
  // What each member had not released when it ended: memory of its own with ranges in it.
  WindowRange leftovers[kRanksMax];
};

class SharedGroup final : public Transport {
 public:
  // `windows` of the whole world hold the area of this group, on its first member.
  SharedGroup(Transport& whole, std::vector<int> members, const Windows& windows)
      : whole_(whole),
        members_(std::move(members)),
        names_(whole_ranks(whole.group(), members_)),
        range_(windows.ranges[members_[0]]),
        address_(windows.addresses[members_[0]]) {}

  // A group that has failed leaves windows in which a peer may be in the middle of a write, and the
  // world that owns the memory lives on. Who ends early must not take away what the others still
  // look at: the last one does.
  ~SharedGroup() override {
    leave_list();
    const bool last = area().ended.fetch_add(1) + 1 == members_.size();
    for (int rank = 0; last && rank < ranks(); ++rank) release_list(rank);
    whole_.unmap(members_[0], address_, range_);
    if (last) whole_.release(members_[0], range_);
  }

  std::string_view name() const override { return whole_.name(); }
  int ranks() const override { return static_cast<int>(members_.size()); }
  ControlArea& control() override { return area().control; }
  std::span<const int> group() const override { return names_; }
  WindowRange reserve(int rank, std::int64_t bytes) override {
    const WindowRange range = whole_.reserve(members_[rank], bytes);
    const std::lock_guard guard(mutex_);
    rank_ = rank;
    if (range.bytes > 0) held_.push_back(range);
    return range;
  }
  std::byte* map(int owner, const WindowRange& range) override {
    return whole_.map(members_[owner], range);
  }
  void unmap(int owner, std::byte* address, const WindowRange& range) override {
    whole_.unmap(members_[owner], address, range);
  }
  void release(int rank, const WindowRange& range) override {
    {
      // A group of this one may release what another member has reserved.
      const std::lock_guard guard(mutex_);
      if (rank == rank_) {
        std::erase_if(held_, [&](const WindowRange& held) { return held.offset == range.offset; });
      }
    }
    whole_.release(members_[rank], range);
  }

 private:
  // Tells what this member still holds. The memory is zeroed, so an empty range ends the list.
  void leave_list() {
    if (held_.empty()) return;
    const auto bytes = static_cast<std::int64_t>((held_.size() + 1) * sizeof(WindowRange));
    try {
      const WindowRange list = whole_.reserve(members_[rank_], bytes);
      std::byte* address = whole_.map(members_[rank_], list);
      std::memcpy(address, held_.data(), held_.size() * sizeof(WindowRange));
      whole_.unmap(members_[rank_], address, list);
      area().leftovers[rank_] = list;
    } catch (const Error&) {
      // No memory even for that: what is held stays until the world ends.
    }
  }

  void release_list(int rank) {
    const WindowRange list = area().leftovers[rank];
    if (list.bytes == 0) return;
    try {
      std::byte* address = whole_.map(members_[rank], list);
      const auto* held = reinterpret_cast<const WindowRange*>(address);
      for (; held->bytes > 0; ++held) whole_.release(members_[rank], *held);
      whole_.unmap(members_[rank], address, list);
      whole_.release(members_[rank], list);
    } catch (const Error&) {
      // The same.
    }
  }

  GroupArea& area() { return *reinterpret_cast<GroupArea*>(address_); }

  Transport& whole_;
  std::vector<int> members_;  // [rank of the group]: its rank in `whole_`
  std::vector<int> names_;    // the same in the world that is part of no other
  WindowRange range_;
  std::byte* address_;
  std::mutex mutex_;               // of the rest: groups of this one have threads of their own
  int rank_ = 0;                   // of the member that uses this object
  std::vector<WindowRange> held_;  // reserved by it and not yet released
};

}  // namespace

std::unique_ptr<Transport> make_shared_group(Transport& whole, HostRank& rank,
                                             const std::vector<int>& members) {
  const bool first = rank.rank() == members[0];
  const Windows windows =
      rank.allocate_windows(first ? static_cast<std::int64_t>(sizeof(GroupArea)) : 0);
  if (std::ranges::find(members, rank.rank()) != members.end()) {
    return std::make_unique<SharedGroup>(whole, members, windows);
  }
  whole.unmap(members[0], windows.addresses[members[0]], windows.ranges[members[0]]);
  return nullptr;
}

}  // namespace tandem::host
