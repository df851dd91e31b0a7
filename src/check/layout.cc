// SPDX-License-Identifier: Apache-2.0
#include "check/layout.h"

#include "base/strings.h"

namespace tandem::check {

void check_layout(const sim::Program& program, Findings& findings) {
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const auto extent = [&](Buffer buffer) -> const BufferExtent& {
      return program.ranks[rank].launch.extents[static_cast<std::size_t>(buffer)];
    };
    const BufferExtent& data = extent(Buffer::window_data);
    const BufferExtent& scale = extent(Buffer::window_scale);
    const bool both = data.bytes > 0 && scale.bytes > 0;
    if (!both || data.window_offset >= scale.window_offset + scale.bytes ||
        scale.window_offset >= data.window_offset + data.bytes) {
      continue;
    }
    Finding finding;
    finding.code = FindingCode::overlay;
    finding.object = cat("window of rank ", rank);
    finding.detail =
        cat(to_string(Buffer::window_data), " lies at ", data.window_offset, "+", data.bytes, ", ",
            to_string(Buffer::window_scale), " at ", scale.window_offset, "+", scale.bytes);
    findings.add(finding);
  }
}

}  // namespace tandem::check
