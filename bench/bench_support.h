// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share. Each checks its answer, then times itself and its yardstick by turns
// in the same process; what counts is the ratio.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "mx/matrix.h"

namespace tandem::bench {

// Set by --once: shapes shrink, since only the answers are of interest.
bool only_checks();

// An MX matrix of its own, drawn from a seed: finite codes, scales near 1.
class Drawn {
 public:
  Drawn(ElementFormat format, std::int64_t rows, std::int64_t k, std::uint64_t seed);
  MxMatrix view() const { return view_; }

 private:
  std::vector<std::uint8_t> codes_, scales_;
  MxMatrix view_;
};

// Normal values.
std::vector<float> draw_values(std::int64_t count, std::uint64_t seed);

double seconds_of(const std::function<void()>& work);

// Times `ours` and `yardstick` by turns; the time of `ours` is the iteration's. Counters: `ratio`,
// the median of yardstick · scale / ours (above 1: ours is faster), and its 10 and 90 % marks.
void run_beside(benchmark::State& state, double scale, const std::function<void()>& ours,
                const std::function<void()>& yardstick);

}  // namespace tandem::bench
