// SPDX-License-Identifier: Apache-2.0
#include "host/transport/shared_group.h"

#include <algorithm>

#include "host/host_rank.h"
#include "host/reports/rank_name.h"

namespace tandem::host {
namespace {

// Zeroed memory is a valid one.
struct GroupArea {
  ControlArea control;
  std::atomic<std::uint32_t> ended;  // members that use it no more
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

  ~SharedGroup() override {
    const bool last = area().ended.fetch_add(1) + 1 == members_.size();
    whole_.unmap(members_[0], address_, range_);
    // Who ends early must not take away what the others still look at.
    if (last) whole_.release(members_[0], range_);
  }

  std::string_view name() const override { return whole_.name(); }
  int ranks() const override { return static_cast<int>(members_.size()); }
  ControlArea& control() override { return area().control; }
  std::span<const int> group() const override { return names_; }
  WindowRange reserve(int rank, std::int64_t bytes) override {
    return whole_.reserve(members_[rank], bytes);
  }
  std::byte* map(int owner, const WindowRange& range) override {
    return whole_.map(members_[owner], range);
  }
  void unmap(int owner, std::byte* address, const WindowRange& range) override {
    whole_.unmap(members_[owner], address, range);
  }
  void release(int rank, const WindowRange& range) override {
    whole_.release(members_[rank], range);
  }

 private:
  GroupArea& area() { return *reinterpret_cast<GroupArea*>(address_); }

  Transport& whole_;
  std::vector<int> members_;  // [rank of the group]: its rank in `whole_`
  std::vector<int> names_;    // the same in the world that is part of no other
  WindowRange range_;
  std::byte* address_;
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
