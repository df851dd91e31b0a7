// SPDX-License-Identifier: Apache-2.0
// Correct programs drawn at random: the checker must have nothing to say about any of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "check/mutants/mutant_run.h"

namespace tandem::check {

// One line that says everything that makes the configuration.
std::string describe(const Configuration& config);

// Number `index` of the series `seed`: any operator, 1 to 6 ranks, small and uneven shapes, every
// variant, 1 to 3 launches, shallow queues, a straggler now and then.
Configuration draw_configuration(std::uint64_t seed, std::uint64_t index);

struct SoundReport {
  int run = 0;
  int refused = 0;    // drawn, and impossible on their device: not counted in `run`
  int confluent = 0;  // whose one run speaks for all schedules
  std::uint64_t ops = 0;
  std::vector<std::string> alarms;  // configuration and first finding
};

// Draws until `count` configurations have run. `progress` may be empty.
SoundReport run_sound_configurations(const Makers& makers, std::uint64_t seed, int count,
                                     const std::function<void(int)>& progress);

}  // namespace tandem::check
