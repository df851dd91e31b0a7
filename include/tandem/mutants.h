// SPDX-License-Identifier: Apache-2.0
// How far the checker can be trusted: programs with a known error, which it must find, and correct
// ones, about which it must say nothing. `list_mutants()` of checking.h names the errors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tandem {

struct MutantOptions {
  int configurations = 2000;  // correct programs drawn at random
  std::uint64_t seed = 1;     // of these
  int generated_step = 20;    // of the mutants made by rule each n-th; 0: none
};

struct MutantReport {
  int errors = 0;     // programs with an error by hand, and refusals that must come
  int caught = 0;     // with the right code
  int diagnosed = 0;  // with the right object and places as well
  int correct = 0;    // correct programs: controls and drawn ones
  int false_alarms = 0;
  int generated = 0;  // mutants made by rule that are errors
  int generated_caught = 0;
  std::string text;  // for a person: what was missed, and the numbers, the verdict last

  bool passed() const {
    return caught == errors && false_alarms == 0 && 100 * generated_caught >= 95 * generated;
  }
};

// What a long run is doing, for people.
using MutantProgress = std::function<void(const std::string& line)>;

// About half a minute with the defaults. The same text for the same options.
MutantReport run_mutants(const MutantOptions& options, const MutantProgress& progress = {});

}  // namespace tandem
