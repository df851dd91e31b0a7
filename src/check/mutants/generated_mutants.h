// SPDX-License-Identifier: Apache-2.0
// Mutants made by rule: every place from which a correct run synchronises or transfers, times every
// way to get it wrong.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "check/mutants/mutant_run.h"

namespace tandem::check {

struct GeneratedMutant {
  std::string name;  // "vector set_flag all_gather_matmul/kernel.cc#2: dropped"
  Mutation mutation;
};

// All mutants of a configuration's correct program.
std::vector<GeneratedMutant> generate_mutants(const BuiltProgram& correct);

// Not every mutant is an error. *Equivalent*: as much is known at every operation as before, and
// the same memory is accessed. *Without effect*: nothing is found, and C holds the same in the
// canonical and in many other schedules, as where a synchronisation repeats what another one says.
// Addresses find most errors; where they find none, C is compared with the reference.
struct GeneratedReport {
  int total = 0;
  int caught = 0;
  int caught_by_values = 0;  // of them, by the values of C alone
  int equivalent = 0;
  int without_effect = 0;
  struct Survivor {
    std::string configuration;
    std::string mutant;
    std::string observation;  // what shows that it is an error
  };
  std::vector<Survivor> survivors;
  std::vector<std::string> harmless;  // names of those without effect

  // Of those that are errors.
  double score() const;
};

struct GeneratedOptions {
  int every = 1;            // only each n-th mutant
  std::string_view ending;  // only mutants whose name ends so
};

// Small configurations of every operator.
std::vector<Configuration> generated_configurations();
GeneratedReport run_generated_mutants(const Makers& makers,
                                      const std::vector<Configuration>& configurations,
                                      const GeneratedOptions& options,
                                      const std::function<void(int)>& progress);

}  // namespace tandem::check
