// SPDX-License-Identifier: Apache-2.0
// Reports of checks for people and for programs.
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "check/finding_help.h"
#include "problem_fields.h"
#include "tandem/case.h"
#include "tandem/checking.h"
#include "tandem/version.h"

namespace tandem {
namespace {

using nlohmann::ordered_json;

std::string verdict_line(const CheckReport& report) {
  const auto runs = [&report] {
    return report.schedules == 1 ? std::string("1 schedule") : cat(report.schedules, " schedules");
  };
  switch (report.verdict) {
    case CheckVerdict::sound:
      return report.confluent ? "sound (all schedules of this input)"
                              : cat("sound (all orders of what is open, ", runs(), ")");
    case CheckVerdict::explored:
      return cat("explored ", runs(), ", not confluent: ", report.doubts[0]);
    case CheckVerdict::findings:
    case CheckVerdict::deadlock:
      return cat(report.verdict == CheckVerdict::deadlock ? "deadlock, " : "",
                 report.findings.size(), report.findings.size() == 1 ? " finding" : " findings",
                 " in ", report.token);
  }
  return "?";
}

}  // namespace

std::string check_text(const CheckReport& report) {
  std::string text;
  for (const std::string& note : report.notes) text += cat("note: ", note, "\n");
  for (const std::string& lint : report.lints) text += cat("lint: ", lint, "\n");
  for (const CheckFinding& finding : report.findings) {
    text += finding.text + "\n";
    if (const auto* help = check::find_help(finding.code)) text += cat("  fix: ", help->fix, "\n");
  }
  if (!report.findings.empty()) text += cat("reproduce: ", report.reproduce, "\n");
  if (!report.smallest.empty() && report.smallest != report.reproduce) {
    text += cat("smallest: ", report.smallest, "\n");
  }
  text += cat("ran ", report.blocks, " blocks, ", report.rounds, " rounds, ", report.launches,
              " launches, ", report.ops, " operations in ", report.schedules,
              report.schedules == 1 ? " run\n" : " runs\n");
  return text + verdict_line(report) + "\n";
}

std::string check_json(const CheckOptions& options, const CheckReport& report) {
  ordered_json problem;
  for (const auto& [name, value] : problem_fields(options.problem)) problem[name] = value;
  ordered_json findings = ordered_json::array();
  for (const CheckFinding& finding : report.findings) {
    ordered_json sides = ordered_json::array();
    for (const CheckSide& side : finding.sides) {
      sides.push_back({{"rank", side.rank},
                       {"core", side.core},
                       {"pipe", side.pipe},
                       {"verb", side.verb},
                       {"file", side.file},
                       {"line", side.line},
                       {"launch", side.launch}});
    }
    findings.push_back({{"code", finding.code},
                        {"object", finding.object},
                        {"count", finding.count},
                        {"sides", sides},
                        {"detail", finding.detail}});
  }
  const ordered_json json{{"verdict", to_string(report.verdict)},
                          {"confluent", report.confluent},
                          {"schedules", report.schedules},
                          {"launches", report.launches},
                          {"findings", findings},
                          {"doubts", report.doubts},
                          {"notes", report.notes},
                          {"lints", report.lints},
                          {"schedule", report.token},
                          {"reproduce", report.reproduce},
                          {"smallest", report.smallest},
                          {"device", options.device},
                          {"problem", problem},
                          {"data", options.data == CheckData::values ? "values" : "footprint"},
                          {"strategy", to_string(options.strategy)},
                          {"seed", options.seed},
                          {"mutant", options.mutant},
                          {"variant", options.variant},
                          {"rounds", report.rounds},
                          {"blocks", report.blocks},
                          {"steps", report.steps},
                          {"operations", report.ops},
                          {"shadow_segments", report.shadow_segments},
                          {"seconds", report.seconds},
                          {"version", std::string(kVersion)}};
  return json.dump(2) + "\n";
}

std::string check_command(const CheckOptions& options) {
  const Problem& problem = options.problem;
  std::string line = cat("tandem check ", to_string(problem.op), " -R ", problem.ranks, " -m ",
                         problem.m, " -n ", problem.n, " -k ", problem.k);
  Problem plain;
  plain.op = problem.op;
  plain.ranks = problem.ranks;
  plain.m = problem.m;
  plain.n = problem.n;
  plain.k = problem.k;
  const auto defaults = problem_fields(plain);
  const auto fields = problem_fields(problem);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& [name, value] = fields[i];
    if (value == defaults[i].second) continue;
    line += cat(" --", name);
    if (value != "yes") line += " " + value;
  }
  const CheckOptions usual;
  const auto add = [&line](std::string_view option, const auto& value) {
    line += cat(" --", option, " ", value);
  };
  if (options.device != usual.device) add("device", options.device);
  if (options.launches != usual.launches) add("launches", options.launches);
  if (options.seed != usual.seed) add("seed", options.seed);
  if (options.data == CheckData::footprint) line += " --footprint";
  if (options.profile.queue_depth != usual.profile.queue_depth) {
    add("queue-depth", options.profile.queue_depth);
  }
  if (options.profile.overlapped_vector) line += " --overlapped-vector";
  if (options.profile.weak_drain) line += " --weak-drain";
  if (!options.variant.empty()) add("variant", options.variant);
  if (!options.mutant.empty()) add("mutant", options.mutant);
  if (options.strategy != usual.strategy) {
    add("strategy", to_string(options.strategy));
    add("schedules", options.schedules);
  }
  if (!options.replay.empty()) line += cat(" --replay '", options.replay, "'");
  return line;
}

std::string list_findings() { return check::list_help(); }

}  // namespace tandem
