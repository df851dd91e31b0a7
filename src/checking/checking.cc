// SPDX-License-Identifier: Apache-2.0
#include "tandem/checking.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/strings.h"
#include "check/explorer.h"
#include "check/lints.h"
#include "check/schedules.h"
#include "check/shrink.h"
#include "checking/check_case.h"
#include "checking/shrink_problem.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using check::Findings;
using check::RunReport;
using check::ScheduleSpec;

constexpr int kShrinkRunsMax = 60;      // of configurations
constexpr int kDeviationRunsMax = 200;  // of schedules of the smallest one

check::Strategy strategy_of(CheckStrategy strategy) {
  switch (strategy) {
    case CheckStrategy::canonical:
      return check::Strategy::canonical;
    case CheckStrategy::random:
      return check::Strategy::random;
    case CheckStrategy::pct:
      return check::Strategy::pct;
    case CheckStrategy::starve:
      return check::Strategy::starve;
    case CheckStrategy::exhaustive:
      return check::Strategy::exhaustive;
  }
  return check::Strategy::canonical;
}

CheckFinding shown(const Finding& finding) {
  CheckFinding out;
  out.code = to_string(finding.code);
  out.object = finding.object;
  for (const FindingSide& side : finding.sides) {
    out.sides.push_back(
        {side.rank, side.core, side.pipe, side.verb, side.site.file, side.site.line, side.launch});
  }
  out.detail = finding.detail;
  out.count = finding.count;
  out.text = to_text(finding);
  return out;
}

bool shows(const RunReport& report, const std::string& signature) {
  return std::ranges::any_of(report.findings, [&](const Finding& finding) {
    return Findings::signature(finding) == signature;
  });
}

RunReport run_spec(CheckCase& made, const ScheduleSpec& spec,
                   const std::vector<sim::Observer*>& more = {}) {
  const auto schedule = check::make_schedule(spec);
  return made.run(schedule.get(), check::HappensBefore::Hash::off, more);
}

// One check from its options to its report.
class Check {
 public:
  Check(const CheckOptions& options, const CheckProgress& progress)
      : options_(options), progress_(progress) {}

  CheckReport run() {
    const auto start = std::chrono::steady_clock::now();
    say("planning");
    CheckCase made(options_);
    describe(made.plan());
    say("running");
    check::UnheardWords unheard;
    const check::Exploration found =
        options_.replay.empty() ? explore(made, unheard) : replay(made, unheard);
    keep(made, found);
    // A run that got stuck has not come to its waits.
    if (found.report.finished) {
      for (const std::string& lint : unheard.lints()) out_.lints.push_back(lint);
    }
    if (!found.report.clean()) {
      confirm(made, found);
      if (options_.shrink == CheckShrink::on) shrink(found);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    out_.seconds = seconds.count();
    return out_;
  }

 private:
  void say(const std::string& line) const {
    if (progress_) progress_("check: " + line);
  }

  void describe(const Plan& plan) {
    out_.launches = options_.launches;
    out_.rounds = plan.rounds();
    out_.blocks = plan.blocks;
    out_.notes = plan.unsound;
    out_.lints = check::lints_of_plan(plan);
  }

  check::Exploration explore(CheckCase& made, check::UnheardWords& unheard) const {
    const check::ExploreOptions options{.strategy = strategy_of(options_.strategy),
                                        .schedules = options_.schedules,
                                        .seed = options_.seed};
    int runs = 0;
    return check::explore(made.program(), options,
                          [&](sim::Schedule* schedule, std::vector<sim::Observer*> more) {
                            if (runs > 0) say(cat("schedule ", runs));
                            ++runs;
                            more.push_back(&unheard);
                            return made.run(schedule, options.hash, more);
                          });
  }

  check::Exploration replay(CheckCase& made, check::UnheardWords& unheard) const {
    check::Exploration once;
    once.spec = check::parse_token(options_.replay);
    once.report = run_spec(made, once.spec, {&unheard});
    once.schedules = 1;
    once.steps = once.report.steps;
    once.ops = once.report.ops;
    return once;
  }

  // All orders were run. Where they add to one place, sums differ in bits: only values tell.
  static bool settles(const CheckCase& made, const RunReport& report) {
    return made.program().values ||
           std::ranges::none_of(report.doubts,
                                [](const std::string& doubt) { return doubt.starts_with("C4"); });
  }

  void keep(const CheckCase& made, const check::Exploration& found) {
    const RunReport& report = found.report;
    for (const Finding& finding : report.findings) out_.findings.push_back(shown(finding));
    out_.confluent = report.confluent();
    out_.doubts = report.doubts;
    out_.schedules = found.schedules;
    out_.steps = found.steps;
    out_.ops = found.ops;
    out_.shadow_segments = report.shadow_segments;
    out_.token = check::to_token(found.spec);
    out_.reproduce = report.clean() ? check_command(options_) : command(options_, found.spec);
    const bool settled = report.confluent() || (found.exhausted && settles(made, report));
    if (!settled) {
      for (const std::string& doubt : report.doubts) out_.findings.push_back(open_order(doubt));
    }
    if (!report.finished) {
      out_.verdict = CheckVerdict::deadlock;
    } else if (!report.findings.empty()) {
      out_.verdict = CheckVerdict::findings;
    } else {
      out_.verdict = settled ? CheckVerdict::sound : CheckVerdict::explored;
    }
  }

  // Not known to be wrong, and not known to be right: not every order was run.
  static CheckFinding open_order(const std::string& doubt) {
    Finding finding;
    finding.code = FindingCode::nonconfluent;
    finding.object = doubt;
    finding.detail = "the schedules that were run do not speak for all";
    return shown(finding);
  }

  static std::string command(CheckOptions options, const ScheduleSpec& spec) {
    options.strategy = CheckStrategy::canonical;
    options.replay = spec == ScheduleSpec{} ? std::string() : check::to_token(spec);
    return check_command(options);
  }

  // What is reported must be there the second time too.
  void confirm(CheckCase& made, const check::Exploration& found) const {
    say("running it again");
    set_reproduce_line(out_.reproduce);
    const RunReport again = run_spec(made, found.spec);
    bool same = again.finished == found.report.finished;
    for (const Finding& finding : found.report.findings) {
      // That schedules differ is seen from outside of a run.
      same = same && (finding.code == FindingCode::nonconfluent ||
                      shows(again, Findings::signature(finding)));
    }
    TANDEM_CHECK(same, "a schedule gave other findings when it was run again");
  }

  void shrink(const check::Exploration& found) {
    if (found.report.findings[0].code == FindingCode::nonconfluent) return;
    const std::string signature = Findings::signature(found.report.findings[0]);
    // Without the schedule first: most errors show in any.
    ScheduleSpec spec;
    if (!still_shows(options_, spec, signature)) spec = found.spec;
    const CheckOptions small = shrink_options(
        options_,
        [&](const CheckOptions& candidate) {
          say(cat("looking for a smaller case: ", check_command(candidate)));
          return still_shows(candidate, spec, signature);
        },
        kShrinkRunsMax);
    if (!(spec == ScheduleSpec{})) spec = shrink_schedule(small, spec, signature);
    out_.smallest = command(small, spec);
  }

  static bool still_shows(const CheckOptions& options, const ScheduleSpec& spec,
                          const std::string& signature) {
    try {
      CheckCase made(options);
      return shows(run_spec(made, spec), signature);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::refused) throw;
      return false;
    }
  }

  // The schedule as the steps in which it leaves the turns, and as few of them as will do.
  ScheduleSpec shrink_schedule(const CheckOptions& options, const ScheduleSpec& spec,
                               const std::string& signature) const {
    say("looking for a simpler schedule");
    CheckCase made(options);
    const auto schedule = check::make_schedule(spec);
    check::Recorder recorder(*schedule);
    made.run(&recorder, check::HappensBefore::Hash::off, {});
    ScheduleSpec turns = recorder.spec();
    const auto fails = [&](const std::vector<check::Deviation>& deviations) {
      ScheduleSpec candidate = turns;
      candidate.deviations = deviations;
      return shows(run_spec(made, candidate), signature);
    };
    if (!fails(turns.deviations)) return spec;
    turns.deviations = check::shrink_deviations(turns.deviations, fails, kDeviationRunsMax);
    const std::string shorter = check::to_token(turns);
    return shorter.size() < 1024 || spec.strategy == ScheduleSpec::Strategy::turns ? turns : spec;
  }

  CheckOptions options_;
  const CheckProgress& progress_;
  CheckReport out_;
};

}  // namespace

CheckReport run_check(const CheckOptions& options, const CheckProgress& progress) {
  return Check(options, progress).run();
}

int exit_code(const CheckReport& report) { return report.findings.empty() ? 0 : 4; }

}  // namespace tandem
