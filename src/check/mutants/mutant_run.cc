// SPDX-License-Identifier: Apache-2.0
#include "check/mutants/mutant_run.h"

#include <algorithm>

#include "base/strings.h"
#include "check/mutants/sound_configurations.h"
#include "tandem/error.h"

namespace tandem::check {
namespace {

// Everybody else goes first.
class Straggle final : public sim::Schedule {
 public:
  explicit Straggle(int rank) : rank_(rank) {}
  std::size_t pick(const sim::Machine& machine, const std::vector<int>& ready) override {
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (machine.core(machine.entity(ready[i]).core).rank != rank_) return i;
    }
    return 0;
  }

 private:
  int rank_;
};

Device device_of(const Makers& makers, const Configuration& config) {
  Device device = makers.device(config.device_name);
  if (config.device_change) config.device_change(device);
  return device;
}

std::string text_of(const FindingSide& side) {
  return cat("rank ", side.rank, " ", side.core, " ", side.pipe, " ", side.verb, " ",
             side.site.file, ":", side.site.line);
}

// The sides; of a deadlock the lines of its explanation as well, one for each wait.
std::vector<std::string> places_of(const Finding& finding) {
  std::vector<std::string> places;
  for (const FindingSide& side : finding.sides) places.push_back(text_of(side));
  std::size_t first = 0;
  while (finding.code == FindingCode::deadlock && first < finding.detail.size()) {
    const std::size_t end = std::min(finding.detail.find('\n', first), finding.detail.size());
    places.push_back(finding.detail.substr(first, end - first));
    first = end + 1;
  }
  return places;
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::diagnosed:
      return "diagnosed";
    case Outcome::detected:
      return "detected";
    case Outcome::missed:
      return "missed";
    case Outcome::silent:
      return "silent";
    case Outcome::false_alarm:
      return "false alarm";
    case Outcome::not_expressible:
      return "not expressible";
  }
  return "?";
}

BuiltProgram build(const Makers& makers, const Configuration& config, const Mutation* mutation) {
  const Device device = device_of(makers, config);
  const bool per_rank = mutation != nullptr && (mutation->problem || mutation->plan);
  BuiltProgram built;
  for (int rank = 0; rank < (per_rank ? config.problem.ranks : 1); ++rank) {
    Problem problem = config.problem;
    if (per_rank && mutation->problem) mutation->problem(problem, rank);
    built.plans.push_back(std::make_unique<Plan>(makers.plan(problem, device)));
    if (per_rank && mutation->plan) mutation->plan(*built.plans.back(), rank);
  }
  built.program.launches = config.launch_count;
  built.program.profile = config.profile;
  built.program.values = false;
  for (int rank = 0; rank < config.problem.ranks; ++rank) {
    built.program.ranks.push_back({makers.launch(built.plan(rank), rank), nullptr});
  }
  if (mutation != nullptr) mutate_program(*mutation, built.plan(0), built.program);
  return built;
}

RunReport run_configuration(const Configuration& config, const BuiltProgram& built,
                            HappensBefore::Hash hash) {
  RunReport report;
  if (config.straggler) {
    Straggle schedule(*config.straggler);
    report = run_checked(built.program, &schedule, hash);
  } else {
    report = run_checked(built.program, nullptr, hash);
  }
  for (const std::string& doubt : report.doubts) {
    Finding finding;
    finding.code = FindingCode::nonconfluent;
    finding.object = doubt;
    report.findings.push_back(std::move(finding));
  }
  return report;
}

bool has_words(std::string_view text, std::string_view words) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (text.find(words.substr(0, end)) == std::string_view::npos) return false;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return true;
}

bool diagnoses(const Finding& finding, const Mutant& mutant) {
  if (finding.code != mutant.code) return false;
  if (!has_words(finding.object + "\n" + finding.detail, mutant.object)) return false;
  const std::vector<std::string> places = places_of(finding);
  const auto stands_in = [&](std::size_t place, std::string_view words) {
    return has_words(places[place], words);
  };
  // Two different places, in any order.
  for (std::size_t one = 0; one < places.size(); ++one) {
    if (!stands_in(one, mutant.sites[0])) continue;
    if (mutant.sites[1].empty()) return true;
    for (std::size_t other = 0; other < places.size(); ++other) {
      if (other != one && stands_in(other, mutant.sites[1])) return true;
    }
  }
  return mutant.sites[0].empty();
}

MutantResult MutantRunner::run_refusal(const Mutant& mutant) const {
  MutantResult result;
  try {
    makers_.plan(mutant.config.problem, device_of(makers_, mutant.config));
  } catch (const Error& error) {
    result.refusal = error.what();
    result.outcome =
        has_words(result.refusal, mutant.object) ? Outcome::diagnosed : Outcome::detected;
  }
  return result;
}

const std::vector<Finding>& MutantRunner::twin_findings(const Configuration& config) {
  const auto [found, fresh] = twins_.try_emplace(describe(config));
  if (fresh) {
    const BuiltProgram built = build(makers_, config, nullptr);
    found->second = run_configuration(config, built).findings;
  }
  return found->second;
}

MutantResult MutantRunner::run(const Mutant& mutant) {
  if (mutant.kind == Mutant::Kind::not_expressible) return {.outcome = Outcome::not_expressible};
  if (mutant.kind == Mutant::Kind::refusal) return run_refusal(mutant);
  MutantResult result;
  result.findings = twin_findings(mutant.config);
  result.outcome = Outcome::false_alarm;
  if (!result.findings.empty()) return result;
  const BuiltProgram built = build(makers_, mutant.config, &mutant.mutation);
  result.findings = run_configuration(mutant.config, built).findings;
  if (mutant.kind == Mutant::Kind::control) {
    const bool silent = std::ranges::all_of(result.findings, [&](const Finding& finding) {
      return !mutant.object.empty() && diagnoses(finding, mutant);
    });
    if (silent) result.outcome = Outcome::silent;
    return result;
  }
  result.outcome = Outcome::missed;
  for (const Finding& finding : result.findings) {
    if (finding.code != mutant.code) continue;
    result.outcome = Outcome::detected;
    if (diagnoses(finding, mutant)) {
      result.outcome = Outcome::diagnosed;
      break;
    }
  }
  return result;
}

}  // namespace tandem::check
