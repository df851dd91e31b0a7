// SPDX-License-Identifier: Apache-2.0
#include "cases/results.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "gemm/tile_product.h"
#include "problem_fields.h"
#include "tandem/case.h"
#include "tandem/error.h"
#include "tandem/version.h"
#include "tandem/world.h"

namespace tandem {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

template <typename J>
J difference_json(const Difference& first) {
  return {{"rank", first.rank},
          {"index", first.index},
          {"row", first.row},
          {"column", first.column},
          {"got", first.got},
          {"want", first.want},
          {"source_rank", first.source_rank},
          {"round", first.round},
          {"launch", first.launch}};
}

Difference parse_difference(const json& from) {
  return {.rank = from.at("rank"),
          .index = from.at("index"),
          .row = from.at("row"),
          .column = from.at("column"),
          .got = from.at("got"),
          .want = from.at("want"),
          .source_rank = from.at("source_rank"),
          .round = from.at("round"),
          .launch = from.at("launch")};
}

// Of two exit codes the one that says more: a bug, an interruption, a lost world, a lack, a wrong
// result, a refusal, nothing.
int graver(int a, int b) {
  const auto weight = [](int code) {
    if (code == 134) return 6;
    if (code > 128) return 5;
    constexpr int kOrder[] = {0, 2, 1, 4, 4, 3};  // by exit code 0 … 5
    return code >= 0 && code <= 5 ? kOrder[code] : 4;
  };
  return weight(a) >= weight(b) ? a : b;
}

// What the end of one rank means for the command.
int code_of_outcome(int exit_code) {
  constexpr int kInterrupt = 128 + 2;
  constexpr int kTerminate = 128 + 15;
  if (exit_code == kInterrupt || exit_code == kTerminate) return exit_code;
  for (const int crash : {4, 6, 7, 8, 11}) {  // SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV
    if (exit_code == 128 + crash) return 134;
  }
  return exit_code > 128 && exit_code != 134 ? 3 : exit_code;
}

struct Counts {
  int passed = 0;
  int failed = 0;
  int refused = 0;
};

Counts count(const std::vector<CaseResult>& results) {
  Counts counts;
  for (const CaseResult& result : results) {
    counts.passed += result.verdict == Verdict::pass ? 1 : 0;
    counts.refused += result.verdict == Verdict::refused ? 1 : 0;
  }
  counts.failed = static_cast<int>(results.size()) - counts.passed - counts.refused;
  return counts;
}

}  // namespace

std::string to_json(const RankReport& report) {
  const Verification& found = report.found;
  json out{{"case_index", report.case_index},
           {"verdict", to_string(report.verdict)},
           {"exit_code", report.exit_code},
           {"message", report.message},
           {"rounds", report.rounds},
           {"window_bytes", report.window_bytes},
           {"weights_bytes", report.weights_bytes},
           {"seconds", report.seconds},
           {"elements", found.elements},
           {"differing", found.differing},
           {"ulp_max", found.ulp_max},
           {"bound_ratio", found.bound_ratio},
           {"rows", found.rows},
           {"exact_rows", found.exact_rows}};
  if (found.first) out["first"] = difference_json<json>(*found.first);
  return out.dump();
}

bool is_rank_report(const std::string& line) { return line.starts_with('{'); }

RankReport parse_rank_report(const std::string& text) {
  const json in = json::parse(text);
  RankReport report{.case_index = in.at("case_index"),
                    .verdict = *try_parse<Verdict>(in.at("verdict").get<std::string>()),
                    .exit_code = in.at("exit_code"),
                    .message = in.at("message"),
                    .rounds = in.at("rounds"),
                    .window_bytes = in.at("window_bytes"),
                    .weights_bytes = in.at("weights_bytes"),
                    .seconds = in.at("seconds"),
                    .found = {.elements = in.at("elements"),
                              .differing = in.at("differing"),
                              .first = {},
                              .ulp_max = in.at("ulp_max"),
                              .bound_ratio = in.at("bound_ratio"),
                              .rows = in.at("rows"),
                              .exact_rows = in.at("exact_rows")}};
  if (in.contains("first")) report.found.first = parse_difference(in.at("first"));
  return report;
}

void merge_reports(std::span<const RankReport> reports, CaseResult& result) {
  for (const RankReport& report : reports) {
    if (report.verdict != Verdict::pass) {
      // Refusals at the creation of an operator are the same on all ranks.
      result.verdict = report.verdict;
      result.exit_code = report.exit_code;
      result.messages = {report.message};
      return;
    }
    const Verification& found = report.found;
    result.rounds = report.rounds;
    result.window_bytes = std::max(result.window_bytes, report.window_bytes);
    result.weights_bytes = std::max(result.weights_bytes, report.weights_bytes);
    result.seconds_fused = std::max(result.seconds_fused, report.seconds);
    result.elements += found.elements;
    result.differing += found.differing;
    result.rows += found.rows;
    result.exact_rows += found.exact_rows;
    result.ulp_max = std::max(result.ulp_max, found.ulp_max);
    result.bound_ratio = std::max(result.bound_ratio, found.bound_ratio);
    if (found.first && (!result.first || found.first->rank < result.first->rank)) {
      result.first = found.first;
    }
  }
  if (result.differing > 0) result.messages.push_back(describe_difference(result));
  if (result.bound_ratio > 1) {
    result.messages.push_back(cat(result.operator_name, ": |out - exact| is ", result.bound_ratio,
                                  " times the bound of docs/numerics.md section 9"));
  }
  const bool passes = result.messages.empty();
  result.verdict = passes ? Verdict::pass : Verdict::fail;
  result.exit_code = passes ? 0 : 1;
}

void note_world_failure(std::span<const RankOutcome> outcomes, CaseResult& result) {
  const bool has_primary = std::ranges::any_of(outcomes, [](const RankOutcome& outcome) {
    return outcome.exit_code != 0 && !outcome.secondary;
  });
  std::string causes;
  std::string followers;
  int code = 0;
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    const RankOutcome& outcome = outcomes[rank];
    if (outcome.exit_code == 0) continue;
    if (has_primary && outcome.secondary) {
      followers += cat(followers.empty() ? "" : ", ", rank);
      continue;
    }
    causes += cat(causes.empty() ? "" : ", ", rank);
    code = graver(code, code_of_outcome(outcome.exit_code));
    const std::vector<std::string>& known = result.messages;
    if (std::ranges::find(known, outcome.message) == known.end()) {
      result.messages.push_back(outcome.message);
    }
  }
  if (!followers.empty()) {
    result.messages.push_back(cat("rank ", followers, " stopped because rank ", causes, " failed"));
  }
  if (result.messages.empty()) result.messages.emplace_back("the ranks ended without a report");
  result.verdict = code == 2 ? Verdict::refused : Verdict::failed;
  result.exit_code = code == 0 ? 134 : code;
}

std::string verdict_line(const std::vector<CaseResult>& results) {
  const Counts counts = count(results);
  const int ran = counts.passed + counts.failed;
  if (ran == 0) return cat("REFUSED ", counts.refused, "/", counts.refused);
  return cat(counts.failed == 0 ? "PASS " : "FAIL ", counts.passed, "/", ran,
             counts.refused > 0 ? cat(" (", counts.refused, " refused)") : "");
}

int exit_code_of(const std::vector<CaseResult>& results) {
  int code = 0;
  for (const CaseResult& result : results) {
    if (result.verdict != Verdict::refused) code = graver(code, result.exit_code);
  }
  const Counts counts = count(results);
  return counts.passed + counts.failed == 0 ? exit_code(ErrorKind::refused) : code;
}

namespace {

ordered_json case_json(const CaseResult& result) {
  ordered_json out;
  out["operator"] = result.operator_name;
  out["ranks"] = result.problem.ranks;
  out["m"] = result.problem.m;
  out["n"] = result.problem.n;
  out["k"] = result.problem.k;
  out["dtype_a"] = to_string(result.problem.dtype_a);
  out["dtype_b"] = to_string(result.problem.dtype_b);
  out["dtype_c"] = to_string(result.problem.dtype_c);
  out["verdict"] = to_string(result.verdict);
  out["exit_code"] = result.exit_code;
  out["messages"] = result.messages;
  out["notes"] = result.notes;
  out["reproduce"] = result.reproduce;
  for (const auto& [name, value] : problem_fields(result.problem)) out["problem"][name] = value;
  out["seed"] = result.seed;
  if (!has_run(result)) return out;
  out["rounds"] = result.rounds;
  out["algorithm"] = {
      {"order", to_string(result.order)}, {"blocks", result.blocks}, {"slots", result.slots}};
  out["window_bytes"] = result.window_bytes;
  out["weights_bytes"] = result.weights_bytes;
  out["elements"] = result.elements;
  out["differing"] = result.differing;
  out["first"] = nullptr;
  if (result.first) out["first"] = difference_json<ordered_json>(*result.first);
  out["ulp_max"] = result.ulp_max;
  out["bound_ratio"] = result.bound_ratio;
  out["rows"] = result.rows;
  out["exact_rows"] = result.exact_rows;
  out["seconds"] = {{"fused", result.seconds_fused}};
  return out;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

std::string results_json(const WorldOptions& world, const std::vector<CaseResult>& results,
                         const std::vector<std::string>& messages) {
  const Counts counts = count(results);
  ordered_json out;
  const bool ran = counts.passed + counts.failed > 0;
  out["verdict"] = !ran ? "refused" : counts.failed > 0 ? "fail" : "pass";
  out["passed"] = counts.passed;
  out["failed"] = counts.failed;
  out["refused"] = counts.refused;
  if (!messages.empty()) out["messages"] = messages;
  out["machine"] = {{"processor", processor_name()},
                    {"processors", default_workers(1)},
                    {"simd", gemm::simd_targets().front()},
                    {"transport", world.transport}};
  out["build"] = {{"version", kVersion}, {"compiler", __VERSION__}};
  out["cases"] = ordered_json::array();
  for (const CaseResult& result : results) out["cases"].push_back(case_json(result));
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

void write_text_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  if (!file) {
    throw Error(ErrorKind::refused, cat(path, ": it cannot be created; use another path"));
  }
  file << text;
  file.close();
  if (!file)
    throw Error(ErrorKind::environment, cat(path, ": it cannot be filled; free some space"));
}

}  // namespace tandem
