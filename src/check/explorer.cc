// SPDX-License-Identifier: Apache-2.0
#include "check/explorer.h"

#include <algorithm>

#include "base/strings.h"
#include "check/schedules.h"

namespace tandem::check {
namespace {

constexpr int kDepthMax = 3;  // of PCT

// Attaches an Ambiguity to a machine, which exists only while it runs.
class AmbiguityWatch final : public sim::Schedule {
 public:
  AmbiguityWatch(sim::Schedule& schedule, Ambiguity& ambiguity)
      : schedule_(schedule), ambiguity_(ambiguity) {}
  std::size_t pick(const sim::Machine& machine, const std::vector<int>& ready) override {
    ambiguity_.attach(machine);
    return schedule_.pick(machine, ready);
  }

 private:
  sim::Schedule& schedule_;
  Ambiguity& ambiguity_;
};

class Explorer {
 public:
  Explorer(const sim::Program& program, const ExploreOptions& options, const Runner& runner)
      : program_(program), options_(options), runner_(runner) {}

  Exploration run() {
    take(runner_(nullptr, {}), {});
    if (found()) return out_;
    switch (options_.strategy) {
      case Strategy::canonical:
        break;
      case Strategy::random:
        for (int i = 0; i < options_.schedules && !found(); ++i) run_random(i);
        break;
      case Strategy::pct:
        run_pct();
        break;
      case Strategy::starve:
        run_starvation();
        break;
      case Strategy::exhaustive:
        if (!out_.report.confluent()) enumerate();
        break;
    }
    return out_;
  }

 private:
  bool found() const { return !out_.report.clean(); }

  // Keeps the report if it is the first, or the first that found something.
  void take(const RunReport& report, const ScheduleSpec& spec) {
    ++out_.schedules;
    last_steps_ = report.steps;
    out_.steps += report.steps;
    out_.ops += report.ops;
    if (options_.hash == HappensBefore::Hash::on &&
        std::ranges::find(out_.relations, report.relation_hash) == out_.relations.end()) {
      out_.relations.push_back(report.relation_hash);
    }
    std::vector<std::string> doubts = out_.report.doubts;
    for (const std::string& doubt : report.doubts) {
      if (std::ranges::find(doubts, doubt) == doubts.end()) doubts.push_back(doubt);
    }
    if (out_.schedules == 1) {
      first_ops_ = report.ops;
      out_.report = report;
      out_.spec = spec;
    } else if (!report.clean()) {
      out_.report = report;
      out_.spec = spec;
    } else if (report.ops != first_ops_) {
      out_.report = report;
      out_.spec = spec;
      out_.report.findings.push_back(nonconfluent(report, spec));
    }
    out_.report.doubts = std::move(doubts);
  }

  Finding nonconfluent(const RunReport& report, const ScheduleSpec& spec) const {
    Finding finding;
    finding.code = FindingCode::nonconfluent;
    finding.object = "what is executed depends on the schedule";
    finding.detail = cat(first_ops_, " operations in the canonical schedule, ", report.ops, " in ",
                         to_token(spec), "; a kernel must not decide by what came first");
    return finding;
  }

  void run_spec(const ScheduleSpec& spec) {
    const auto schedule = make_schedule(spec);
    take(runner_(schedule.get(), {}), spec);
  }

  void run_random(int index) {
    ScheduleSpec spec;
    spec.strategy = ScheduleSpec::Strategy::random;
    spec.seed = options_.seed + static_cast<std::uint64_t>(index);
    run_spec(spec);
  }

  // Depths 1, 2, 3 by turns; change points anywhere in the steps of one run.
  void run_pct() {
    ScheduleSpec turns;
    turns.strategy = ScheduleSpec::Strategy::turns;
    run_spec(turns);
    const std::uint64_t steps = last_steps_;
    for (int i = 1; i < options_.schedules && !found(); ++i) {
      ScheduleSpec spec;
      spec.strategy = ScheduleSpec::Strategy::pct;
      spec.depth = 1 + (i - 1) % kDepthMax;
      spec.steps = steps;
      spec.seed = options_.seed + static_cast<std::uint64_t>(i);
      run_spec(spec);
    }
  }

  void run_starvation() {
    const std::vector<ScheduleSpec> policies = starvation_policies(program_);
    for (std::size_t i = 0;
         i < policies.size() && static_cast<int>(i) < options_.schedules && !found(); ++i) {
      run_spec(policies[i]);
    }
  }

  void enumerate() {
    Ambiguity seen;
    Ambiguity known;
    int runs = 0;
    bool grown = true;
    while (grown) {
      grown = false;
      Enumeration orders(known);
      while (!grown && orders.next()) {
        if (runs++ == options_.schedules || found()) return;
        Recorder recorder(orders);
        AmbiguityWatch watch(recorder, seen);
        const RunReport report = runner_(&watch, {&seen});
        take(report, recorder.spec());
        if (seen.size() == known.size()) continue;
        known = seen;
        grown = true;
      }
    }
    out_.exhausted = !found();
  }

  const sim::Program& program_;
  ExploreOptions options_;
  const Runner& runner_;
  Exploration out_;
  std::uint64_t first_ops_ = 0;
  std::uint64_t last_steps_ = 0;
};

}  // namespace

Exploration explore(const sim::Program& program, const ExploreOptions& options,
                    const Runner& runner) {
  return Explorer(program, options, runner).run();
}

}  // namespace tandem::check
