// SPDX-License-Identifier: Apache-2.0
// Timelines in Chrome's trace format, for ui.perfetto.dev: a process per rank, a thread per pipe
// and channel, arrows from what set a flag or a word to what waited for it, counters of what passes
// through memories and links.
#pragma once

#include <cstddef>
#include <string>

#include "base/timeline.h"

namespace tandem {

// Viewers of this format give up on much more.
inline constexpr std::size_t kTraceEventsMax = 200'000;

// One JSON object. What does not fit into `events_max` is left out from the end; "otherData" says
// how much.
std::string trace_json(const Timeline& timeline, std::size_t events_max = kTraceEventsMax);

}  // namespace tandem
