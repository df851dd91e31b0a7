// SPDX-License-Identifier: Apache-2.0
#include "checking/check_case.h"

#include "base/strings.h"
#include "check/mutants/mutants.h"
#include "checking/variants.h"
#include "launches.h"
#include "ops/registry.h"
#include "report/device_json.h"
#include "tandem/error.h"

namespace tandem {
namespace {

void check_options(const CheckOptions& options) {
  const auto refuse = [](const std::string& text) { throw Error(ErrorKind::refused, text); };
  if (options.launches < 1) refuse(cat("launches is ", options.launches, "; use 1 or more"));
  if (options.schedules < 0) refuse(cat("schedules is ", options.schedules, "; use 0 or more"));
  if (options.profile.queue_depth < 1) {
    refuse(cat("queue depth is ", options.profile.queue_depth, "; use 1 or more"));
  }
}

const check::Mutant* mutant_of(const std::string& name) {
  if (name.empty()) return nullptr;
  const check::Mutant* mutant = check::find_mutant(name);
  if (mutant == nullptr) {
    throw Error(ErrorKind::refused,
                cat("mutant '", name, "' is unknown; see 'tandem list mutants'"));
  }
  if (mutant->kind == check::Mutant::Kind::not_expressible) {
    throw Error(ErrorKind::refused, cat("mutant ", mutant->id,
                                        ": it cannot be written with the "
                                        "machine's verbs: ",
                                        mutant->reason));
  }
  return mutant;
}

// What the device and the options ask of the machine, on top of what a mutant does.
sim::Profile profile_of(const CheckOptions& options, const check::Mutant* mutant) {
  const CheckProfile& wanted = options.profile;
  const CheckProfile usual;
  sim::Profile profile;
  if (mutant != nullptr) profile = mutant->config.profile;
  if (mutant == nullptr) {
    profile.strided_rows_max = load_device(options.device).memory.strided_rows_max;
  }
  if (wanted.queue_depth != usual.queue_depth) profile.queue_depth = wanted.queue_depth;
  if (wanted.overlapped_vector) profile.serial_v = false;
  if (wanted.weak_drain) profile.drain_is_remote = false;
  return profile;
}

check::BuiltProgram build_case(const CheckOptions& options) {
  check_options(options);
  const check::Mutant* mutant = mutant_of(options.mutant);
  check::Configuration config;
  if (mutant != nullptr) config = mutant->config;
  config.problem = with_variant(options.problem, options.variant);
  config.device_name = options.device;
  config.launch_count = options.launches;
  config.profile = profile_of(options, mutant);
  const check::Makers makers{.plan = make_plan, .launch = make_launch, .device = load_device};
  return check::build(makers, config, mutant != nullptr ? &mutant->mutation : nullptr);
}

}  // namespace

CheckCase::CheckCase(const CheckOptions& options) : built_(build_case(options)) {
  // A mutant's addresses may be wrong: nothing is moved.
  if (options.data == CheckData::footprint || !options.mutant.empty()) return;
  sim::Program& program = built_.program;
  values_.emplace(plan(), options.launches, options.seed);
  program.values = true;
  for (int rank = 0; rank < plan().ranks; ++rank) {
    program.ranks[rank].weights = &values_->weights(rank);
  }
  program.before = [this](sim::Machine& machine, int rank, int launch) {
    values_->fill(machine, rank, launch);
  };
  program.after = [this](sim::Machine& machine, int rank, int launch) {
    values_->compare(machine, rank, launch, wrong_values_);
  };
}

check::RunReport CheckCase::run(sim::Schedule* schedule, check::HappensBefore::Hash hash,
                                const std::vector<sim::Observer*>& more) {
  wrong_values_ = {};
  check::RunReport report = check::run_checked(program(), schedule, hash, more);
  for (const Finding& finding : wrong_values_.list()) report.findings.push_back(finding);
  return report;
}

CheckOptions mutant_options(const std::string& name) {
  const check::Mutant* mutant = mutant_of(name);
  if (mutant == nullptr) throw Error(ErrorKind::refused, "mutant '': give a name");
  CheckOptions options;
  options.problem = mutant->config.problem;
  options.device = mutant->config.device_name;
  options.launches = mutant->config.launch_count;
  options.data = CheckData::footprint;
  options.mutant = name;
  if (mutant->config.straggler) options.replay = cat("starve:rank=", *mutant->config.straggler);
  return options;
}

}  // namespace tandem
