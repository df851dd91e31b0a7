// SPDX-License-Identifier: Apache-2.0
#include "check/layout.h"

#include <vector>

#include "base/strings.h"

namespace tandem::check {
namespace {

// What a rank keeps in its window.
std::vector<Buffer> regions_of(const BufferExtents& extents) {
  std::vector<Buffer> regions;
  for (int i = 0; i < kBufferCount; ++i) {
    const auto buffer = static_cast<Buffer>(i);
    if (extents[i].bytes > 0 && is_in_window(extents, buffer)) regions.push_back(buffer);
  }
  return regions;
}

bool overlap(const BufferExtent& one, const BufferExtent& other) {
  return one.window_offset < other.window_offset + other.bytes &&
         other.window_offset < one.window_offset + one.bytes;
}

std::string place(const BufferExtents& extents, Buffer buffer) {
  const BufferExtent& extent = extents[static_cast<std::size_t>(buffer)];
  return cat(to_string(buffer), " lies at ", extent.window_offset, "+", extent.bytes);
}

}  // namespace

void check_layout(const sim::Program& program, Findings& findings) {
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const BufferExtents& extents = program.ranks[rank].launch.extents;
    const std::vector<Buffer> regions = regions_of(extents);
    for (std::size_t i = 0; i < regions.size(); ++i) {
      for (std::size_t j = i + 1; j < regions.size(); ++j) {
        const auto at = [&](std::size_t region) -> const BufferExtent& {
          return extents[static_cast<std::size_t>(regions[region])];
        };
        if (!overlap(at(i), at(j))) continue;
        Finding finding;
        finding.code = FindingCode::overlay;
        finding.object = cat("window of rank ", rank);
        finding.detail = cat(place(extents, regions[i]), ", ", place(extents, regions[j]));
        findings.add(finding);
      }
    }
  }
}

}  // namespace tandem::check
