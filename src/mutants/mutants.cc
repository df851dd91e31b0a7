// SPDX-License-Identifier: Apache-2.0
#include "tandem/mutants.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"
#include "check/mutants/generated_mutants.h"
#include "check/mutants/mutant_run.h"
#include "check/mutants/sound_configurations.h"
#include "checking/check_data.h"
#include "launches.h"
#include "ops/registry.h"
#include "report/device_json.h"
#include "tandem/checking.h"

namespace tandem {
namespace {

using check::Mutant;
using check::Outcome;
using Kind = check::Mutant::Kind;

check::Makers makers() {
  return {.plan = make_plan,
          .launch = make_launch,
          .device = load_device,
          .wrong_values = find_wrong_values};
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  if (out.size() < width) out.resize(width, ' ');
  return out;
}

// One line for each group of errors.
struct Group {
  int errors = 0;
  int caught = 0;
  int diagnosed = 0;
};

class Session {
 public:
  Session(const MutantOptions& options, const MutantProgress& progress)
      : options_(options), progress_(progress) {}

  MutantReport run() {
    run_table();
    run_generated();
    run_drawn();
    tell_numbers();
    return std::move(report_);
  }

 private:
  template <typename... Parts>
  void say(const Parts&... parts) {
    report_.text += cat(parts..., "\n");
  }
  void show(const std::string& line) {
    if (progress_) progress_(line);
  }

  void run_table() {
    check::MutantRunner runner(makers());
    for (const Mutant& mutant : check::all_mutants()) {
      show(cat("mutant ", mutant.id, " ", mutant.title));
      const check::MutantResult result = runner.run(mutant);
      count(mutant, result.outcome);
      const bool as_wanted = result.outcome == Outcome::diagnosed ||
                             result.outcome == Outcome::silent ||
                             result.outcome == Outcome::not_expressible;
      if (as_wanted) continue;
      say(mutant.id, " ", mutant.title, ": ", to_string(result.outcome));
      for (const Finding& finding : result.findings) say("  ", to_text(finding));
    }
    tell_groups();
  }

  void count(const Mutant& mutant, Outcome outcome) {
    if (outcome == Outcome::false_alarm) ++report_.false_alarms;
    switch (mutant.kind) {
      case Kind::not_expressible:
        return;
      case Kind::control:
        ++report_.correct;
        return;
      case Kind::error:
      case Kind::refusal:
        break;
    }
    Group& group = groups_[mutant.id[0]];
    const bool diagnosed = outcome == Outcome::diagnosed;
    const bool caught = diagnosed || outcome == Outcome::detected;
    ++group.errors;
    group.caught += caught;
    group.diagnosed += diagnosed;
    ++report_.errors;
    report_.caught += caught;
    report_.diagnosed += diagnosed;
  }

  void tell_groups() {
    static const std::map<char, std::string_view> kNames = {
        {'A', "flags"},         {'B', "barriers"}, {'C', "transfers"},
        {'D', "pipes, events"}, {'E', "memory"},   {'F', "slices, shares"},
        {'G', "sums"},          {'H', "launches"}, {'L', "lent rows"}};
    say("errors by hand        coded  caught  diagnosed");
    for (const auto& [letter, group] : groups_) {
      say(letter, " ", padded(kNames.at(letter), 19), padded(cat(group.errors), 7),
          padded(cat(group.caught), 8), group.diagnosed);
    }
  }

  void run_generated() {
    if (options_.generated_step <= 0) return;
    const auto result = check::run_generated_mutants(
        makers(), check::generated_configurations(),
        {.every = options_.generated_step, .ending = {}},
        [this](int done) { show(cat("mutants made by rule: ", done)); });
    report_.generated = result.total - result.equivalent - result.without_effect;
    report_.generated_caught = result.caught;
    say("errors by rule        ", report_.generated, " of ", result.total, " mutants (",
        result.equivalent, " equivalent, ", result.without_effect, " without effect), ",
        result.caught, " caught, ", result.caught_by_values, " of them by the values of C alone");
    for (const auto& survivor : result.survivors) {
      say("  not caught: ", survivor.mutant, " (", survivor.observation, ") in ",
          survivor.configuration);
    }
  }

  void run_drawn() {
    const auto result = check::run_sound_configurations(
        makers(), options_.seed, options_.configurations,
        [this](int done) { show(cat("correct programs: ", done)); });
    report_.correct += result.run;
    report_.false_alarms += static_cast<int>(result.alarms.size());
    say("correct programs      ", result.run, " drawn with seed ", options_.seed, ", ",
        result.confluent, " confluent, ", result.alarms.size(), " alarms, ", result.ops,
        " operations");
    for (const std::string& alarm : result.alarms) say("  ", alarm);
  }

  void tell_numbers() {
    const int false_negatives = report_.errors - report_.caught;
    say("not expressible");
    for (const Mutant& mutant : check::all_mutants()) {
      if (mutant.kind != Kind::not_expressible) continue;
      say("  ", mutant.id, " ", mutant.title, ": ", mutant.reason);
    }
    say("true positives ", report_.caught, ", false positives ", report_.false_alarms,
        ", true negatives ", report_.correct - report_.false_alarms, ", false negatives ",
        false_negatives);
    say(report_.caught, " of ", report_.errors, " caught, ", report_.false_alarms, " false alarms");
  }

  const MutantOptions& options_;
  const MutantProgress& progress_;
  MutantReport report_;
  std::map<char, Group> groups_;
};

std::string_view expectation(const Mutant& mutant) {
  switch (mutant.kind) {
    case Kind::error:
      return to_string(mutant.code);
    case Kind::refusal:
      return "refused";
    case Kind::control:
      return "correct";
    case Kind::not_expressible:
      return "-";
  }
  return "?";
}

}  // namespace

MutantReport run_mutants(const MutantOptions& options, const MutantProgress& progress) {
  return Session(options, progress).run();
}

std::string list_mutants() {
  std::string text;
  const auto add = [&text](std::string_view name, const Mutant& mutant, std::string_view title) {
    const bool runs = mutant.kind != Kind::not_expressible;
    text += padded(name, 14) + padded(expectation(mutant), 19) +
            padded(runs ? to_string(mutant.config.problem.op) : "-", 23) + std::string(title) +
            "\n";
  };
  for (const Mutant& mutant : check::all_mutants()) add(mutant.id, mutant, mutant.title);
  for (const check::UpstreamError& error : check::upstream_errors()) {
    add(error.name, *check::find_mutant(error.mutant), error.title);
  }
  return text;
}

}  // namespace tandem
