// SPDX-License-Identifier: Apache-2.0
#include "check/shadow.h"

#include <algorithm>

#include "base/checked.h"

namespace tandem::check {
namespace {

bool same(const Stamp& a, const Stamp& b) {
  return a.agent == b.agent && a.epoch == b.epoch && a.what == b.what &&
         a.of_nothing == b.of_nothing;
}

bool mergeable(const Segment& a, const Segment& b) {
  return a.end == b.first && a.initialised == b.initialised && a.atomic == b.atomic &&
         same(a.write, b.write) && std::ranges::equal(a.readers, b.readers, same);
}

}  // namespace

ShadowBuffer::ShadowBuffer(std::int64_t bytes, bool initialised)
    : bytes_(bytes), initialised_(initialised) {}

void ShadowBuffer::access(const sim::Access& range, const Stamp& stamp, ShadowListener& listener) {
  if (range.rows == 1 || range.pitch == range.row_bytes) {
    touch(range.offset, range.offset + range.rows * range.row_bytes, range.kind, stamp, listener);
    return;
  }
  for (std::int64_t row = 0; row < range.rows; ++row) {
    const std::int64_t first = range.offset + row * range.pitch;
    touch(first, first + range.row_bytes, range.kind, stamp, listener);
  }
}

void ShadowBuffer::touch(std::int64_t first, std::int64_t end, sim::AccessKind kind,
                         const Stamp& stamp, ShadowListener& listener) {
  while (first < end) {
    const std::int64_t page = first / kPageBytes;
    if (page >= static_cast<std::int64_t>(pages_.size())) pages_.resize(page + 1);
    const std::int64_t stop = std::min(end, (page + 1) * kPageBytes);
    touch_page(pages_[page], first, stop, kind, stamp, listener);
    first = stop;
  }
}

void ShadowBuffer::touch_page(Page& page, std::int64_t first, std::int64_t end,
                              sim::AccessKind kind, const Stamp& stamp, ShadowListener& listener) {
  if (page.empty()) {
    const std::int64_t start = first / kPageBytes * kPageBytes;
    page.push_back({start, std::min(bytes_, start + kPageBytes), initialised_, false, {}, {}});
  }
  auto at = std::ranges::upper_bound(page, first, {}, &Segment::first) - 1;
  if (at->first < first) {  // split off what lies before
    Segment before = *at;
    before.end = first;
    at->first = first;
    at = page.insert(at, std::move(before)) + 1;
  }
  const auto begin_index = at - page.begin();
  std::int64_t reached = first;
  while (reached < end) {
    if (at->end > end) {  // split off what lies behind
      Segment after = *at;
      after.first = end;
      at->end = end;
      at = page.insert(at + 1, std::move(after)) - 1;
    }
    apply(*at, kind, stamp, listener);
    reached = at->end;
    ++at;
  }
  // Join equal neighbours again, so that a buffer's state stays as simple as its use.
  auto from = page.begin() + std::max<std::ptrdiff_t>(0, begin_index - 1);
  while (from + 1 != page.end() && from->first < end) {
    if (mergeable(*from, *(from + 1))) {
      from->end = (from + 1)->end;
      page.erase(from + 1);
    } else {
      ++from;
    }
  }
}

void ShadowBuffer::apply(Segment& segment, sim::AccessKind kind, const Stamp& stamp,
                         ShadowListener& listener) {
  const bool reads = kind == sim::AccessKind::read;
  const bool atomic = kind == sim::AccessKind::atomic;
  if ((reads || atomic) && !segment.initialised) {
    listener.uninitialised(segment.first, segment.end);
  }
  // Atomic updates commute with each other; with everything else they must be ordered.
  if (segment.write.agent != kNobody && !(atomic && segment.atomic) &&
      !listener.ordered(segment.write)) {
    listener.conflict(segment.write, segment.atomic ? Earlier::atomic : Earlier::write,
                      segment.first, segment.end);
  }
  if (reads) {
    std::erase_if(segment.readers, [&](const Stamp& reader) { return listener.ordered(reader); });
    segment.readers.push_back(stamp);
    segment.readers.back().of_nothing = !segment.initialised;
    return;
  }
  for (const Stamp& reader : segment.readers) {
    if (!listener.ordered(reader)) {
      listener.conflict(reader, reader.of_nothing ? Earlier::read_of_nothing : Earlier::read,
                        segment.first, segment.end);
    }
  }
  segment.readers.clear();
  segment.write = stamp;
  segment.atomic = atomic;
  segment.initialised = true;
}

void ShadowBuffer::poison() {
  // The stamps stay: a late access of the launch before is still a race.
  initialised_ = false;
  for (Page& page : pages_) {
    for (Segment& segment : page) segment.initialised = false;
  }
}

void ShadowBuffer::poison_if(const std::function<bool(const Stamp& write)>& old) {
  for (Page& page : pages_) {
    for (Segment& segment : page) {
      if (segment.initialised && old(segment.write)) segment.initialised = false;
    }
  }
}

std::pair<std::int64_t, std::int64_t> ShadowBuffer::first_gap() const {
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    if (pages_[i].empty()) {
      if (!initialised_) {
        const std::int64_t first = static_cast<std::int64_t>(i) * kPageBytes;
        return {first, std::min(bytes_, first + kPageBytes)};
      }
      continue;
    }
    for (const Segment& segment : pages_[i]) {
      if (!segment.initialised) return {segment.first, segment.end};
    }
  }
  const std::int64_t known = static_cast<std::int64_t>(pages_.size()) * kPageBytes;
  if (!initialised_ && known < bytes_) return {known, std::min(bytes_, known + kPageBytes)};
  return {-1, -1};
}

std::size_t ShadowBuffer::segment_count() const {
  std::size_t count = 0;
  for (const Page& page : pages_) count += page.size();
  return count;
}

}  // namespace tandem::check
