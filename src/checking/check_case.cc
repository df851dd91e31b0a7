// SPDX-License-Identifier: Apache-2.0
#include "checking/check_case.h"

#include "base/strings.h"
#include "check/mutants/mutants.h"
#include "check/replay.h"
#include "checking/variants.h"
#include "launches.h"
#include "ops/registry.h"
#include "report/device_json.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Why no program can be made of that mutant; empty: one can.
std::string refusal_of_mutant(const std::string& name) {
  const check::Mutant* mutant = check::find_mutant(name);
  if (mutant == nullptr) {
    return cat("mutant '", name, "' is unknown; see 'tandem list mutants'");
  }
  if (mutant->kind == check::Mutant::Kind::not_expressible) {
    return cat("mutant ", mutant->id,
               ": it cannot be written with the machine's verbs: ", mutant->reason);
  }
  return "";
}

const check::Mutant* mutant_of(const std::string& name) {
  if (name.empty()) return nullptr;
  const std::string refusal = refusal_of_mutant(name);
  if (!refusal.empty()) throw Error(ErrorKind::refused, refusal);
  return check::find_mutant(name);
}

// Names of devices and files, and tokens: what only an attempt can tell.
template <typename Attempt>
void collect(std::vector<std::string>& reasons, const Attempt& attempt) {
  try {
    attempt();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    reasons.emplace_back(error.what());
  }
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
  validate(options);
  const check::Mutant* mutant = mutant_of(planted_error(options));
  check::Configuration config;
  if (mutant != nullptr) config = mutant->config;
  config.problem = with_variant(options.problem, options.variant);
  config.device_name = options.device;
  config.launch_count = options.launches;
  config.profile = profile_of(options, mutant);
  const check::Makers makers{
      .plan = make_plan, .launch = make_launch, .device = load_device, .wrong_values = {}};
  return check::build(makers, config, mutant != nullptr ? &mutant->mutation : nullptr);
}

}  // namespace

CheckCase::CheckCase(const CheckOptions& options) : built_(build_case(options)) {
  // A mutant's addresses may be wrong: nothing is moved.
  if (options.data == CheckData::footprint || !planted_error(options).empty()) return;
  values_.emplace(plan(), options.launches, options.seed);
  values_->attach(built_.program, wrong_values_);
}

check::RunReport CheckCase::run(sim::Schedule* schedule, check::HappensBefore::Hash hash,
                                const std::vector<sim::Observer*>& more) {
  wrong_values_ = {};
  check::RunReport report = check::run_checked(program(), schedule, hash, more);
  for (const Finding& finding : wrong_values_.list()) report.findings.push_back(finding);
  return report;
}

void validate(const CheckOptions& options) {
  std::vector<std::string> reasons;
  const auto at_least = [&reasons](std::string_view name, int value, int low) {
    if (value < low) reasons.push_back(cat(name, " is ", value, "; use ", low, " or more"));
  };
  at_least("launches", options.launches, 1);
  at_least("schedules", options.schedules, 0);
  at_least("queue depth", options.profile.queue_depth, 1);
  const bool upstream = is_upstream_error(options.variant);
  if (upstream && !options.mutant.empty()) {
    reasons.push_back(cat("planted error: both variant ", options.variant, " and mutant ",
                          options.mutant, " are asked for; give one of them"));
  }
  if (!options.mutant.empty()) reasons.push_back(refusal_of_mutant(options.mutant));
  reasons.push_back(refusal_of_variant(options.problem.op, options.variant));
  collect(reasons, [&] { load_device(options.device); });
  collect(reasons, [&] {
    if (!options.replay.empty()) check::parse_token(options.replay);
  });
  std::string text;
  for (const std::string& reason : reasons) {
    if (!reason.empty()) text += (text.empty() ? "" : "\n") + reason;
  }
  if (!text.empty()) throw Error(ErrorKind::refused, text);
}

std::string planted_error(const CheckOptions& options) {
  return is_upstream_error(options.variant) ? options.variant : options.mutant;
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

CheckOptions own_case(const CheckOptions& options) {
  // A name that is unknown is told with whatever else is wrong.
  if (check::find_mutant(planted_error(options)) == nullptr) validate(options);
  CheckOptions own = mutant_options(planted_error(options));
  own.mutant = options.mutant;
  own.variant = options.variant;
  return own;
}

}  // namespace tandem
