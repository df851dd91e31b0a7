// SPDX-License-Identifier: Apache-2.0
// Runs rows of the table: the correct program, which must be clean, then the mutant.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check/mutants/mutants.h"
#include "check/run.h"

namespace tandem::check {

struct BuiltProgram;

// How plans and launches are made: the layers above this one know operators and devices.
struct Makers {
  std::function<Plan(const Problem&, const Device&)> plan;
  std::function<Launch(const Plan&, int rank)> launch;
  std::function<Device(std::string_view name)> device;
  // Wrong elements of C of a program that accesses nothing but what it may; empty: not asked for.
  std::function<std::vector<Finding>(BuiltProgram built)> wrong_values;
};

// A program that keeps the plans that its kernels point to.
struct BuiltProgram {
  std::vector<std::unique_ptr<Plan>> plans;  // one for all ranks, or one each
  sim::Program program;                      // without values

  const Plan& plan(int rank) const { return *plans[plans.size() == 1 ? 0 : rank]; }
};

// Throws Error{refused} where the planner does.
BuiltProgram build(const Makers& makers, const Configuration& config, const Mutation* mutation);

// One canonical run, or the straggler's. A doubt is a finding NONCONFLUENT as well.
RunReport run_configuration(const Configuration& config, const BuiltProgram& built,
                            HappensBefore::Hash hash = HappensBefore::Hash::off);

// Does every word of `words` stand in `text`?
bool has_words(std::string_view text, std::string_view words);

// Is it this code, about this object, and does it name these places?
bool diagnoses(const Finding& finding, const Mutant& mutant);

enum class Outcome {
  diagnosed,    // the right code, object and places; a refusal with the right words
  detected,     // the right code
  missed,       // nothing, or only other codes
  silent,       // a control without a finding
  false_alarm,  // a control, or the correct program, with one
  not_expressible,
};
std::string_view to_string(Outcome outcome);

struct MutantResult {
  Outcome outcome = Outcome::missed;
  std::vector<Finding> findings;  // of the mutant, or of the correct program if it has some
  std::string refusal;            // what the planner said
};

// Keeps the reports of correct programs: many rows share one.
class MutantRunner {
 public:
  explicit MutantRunner(Makers makers) : makers_(std::move(makers)) {}
  MutantResult run(const Mutant& mutant);

 private:
  MutantResult run_refusal(const Mutant& mutant) const;
  const std::vector<Finding>& twin_findings(const Configuration& config);

  Makers makers_;
  std::map<std::string, std::vector<Finding>> twins_;
};

}  // namespace tandem::check
