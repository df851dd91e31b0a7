// SPDX-License-Identifier: Apache-2.0
// A simulated run as one HTML page: the curve over tile counts and a picture of one rank in time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/timeline.h"

namespace tandem {

struct SweepPagePoint {
  std::int64_t tiles = 0;
  Picoseconds time = 0;
  Picoseconds products = 0;
  Picoseconds transfers = 0;
  Picoseconds exposed = 0;
  double masking = 0;
  bool best = false;
};

struct SweepPage {
  std::string title;
  std::string subtitle;
  std::string text;                      // the report, as it is
  std::vector<SweepPagePoint> points;    // in order of tiles; may be empty
  const Timeline* timeline = nullptr;    // null: no picture of a rank
  int rank = 0;                          // whose first block is drawn
};

std::string print_sweep_page(const SweepPage& page);

}  // namespace tandem
