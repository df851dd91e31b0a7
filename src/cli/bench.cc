// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <sstream>

#include "cli/commands.h"
#include "cli/membership.h"
#include "cli/output.h"
#include "cli/request.h"
#include "tandem/benchmarking.h"
#include "tandem/case.h"
#include "tandem/error.h"

namespace tandem::cli {
namespace {

struct BenchRequest : Request {
  BenchOptions bench;
  std::string gate;
  std::int64_t launches = 0;
  SweepRounds sweep = SweepRounds::no;
  CLI::Option* ranks = nullptr;
  std::string json, page;
};

void take_arms(BenchRequest& request, const std::string& text) {
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (const auto arm = try_parse<BenchArm>(word)) {
      request.bench.arms.push_back(*arm);
    } else {
      request.refuse(fmt::format("--arms holds '{}'", word),
                     "use some of fused, serial, baseline, compute, comm");
    }
  }
}

void take_pin(BenchRequest& request, const std::string& text) {
  if (const auto pin = try_parse<Pinning>(text)) {
    request.bench.pin = *pin;
  } else {
    request.refuse(fmt::format("--pin is '{}'", text), "use on or off");
  }
}

void take_compute(BenchRequest& request, const std::string& text) {
  if (const auto compute = try_parse<BenchCompute>(text)) {
    request.bench.compute = *compute;
  } else {
    request.refuse(fmt::format("--compute is '{}'", text), "use real or sleep");
  }
}

// An option with a number, which need not be whole.
template <typename T>
void add_real(CLI::App& app, BenchRequest& request, const std::string& name, T& target,
              const std::string& help, const std::string& type_name) {
  const auto take = [&request, &target, name](const std::string& text) {
    const char* end = text.data() + text.size();
    double value = 0;
    const auto parsed = std::from_chars(text.data(), end, value);
    if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) {
      request.refuse(fmt::format("{} is '{}'", name, text), "use a number, like 3 or 0.5");
    } else {
      target = value;
    }
  };
  app.add_option_function<std::string>(name, take, help)->type_name(type_name);
}

void check_combinations(BenchRequest& request) {
  const Extents& given = request.given;
  if (!request.gate.empty() && (given.m || given.n || given.k)) {
    request.refuse("-m, -n or -k is given beside --gate", "leave it out, the list gives them");
  }
  if (!request.gate.empty() && request.sweep == SweepRounds::yes) {
    request.refuse("--sweep-tiles is given beside --gate", "sweep one shape by itself");
  }
  if (!request.page.empty() && request.sweep == SweepRounds::no) {
    request.refuse("--html is given without --sweep-tiles", "add it: the picture is of a sweep");
  }
  request.check_output("--json", request.json);
  request.check_output("--html", request.page);
}

// The rows of the list, for each count of ranks unless it was given; then a row's own is kept.
std::vector<CaseOptions> gate_cases(BenchRequest& request, const std::vector<OperatorKind>& kinds) {
  std::vector<CaseOptions> cases;
  std::vector<int> counts{2, 4};
  const bool given = request.ranks->count() > 0 || request.world.membership;
  if (given) counts = {request.options.problem.ranks};
  for (const int count : counts) {
    CaseListOptions list{.path = request.gate, .op = {}, .scale_down = 1, .base = request.options};
    if (kinds.size() == 1) list.op = kinds[0];
    list.base.problem.ranks = count;
    for (CaseOptions& made : read_case_list(list)) {
      made.problem.ranks = count;
      cases.push_back(std::move(made));
    }
  }
  return cases;
}

std::vector<CaseOptions> cases_of(BenchRequest& request, const std::vector<OperatorKind>& kinds) {
  if (!request.gate.empty()) return gate_cases(request, kinds);
  std::vector<CaseOptions> cases;
  for (const OperatorKind kind : kinds) {
    CaseOptions made = request.options;
    made.problem = problem_of(request, kind);
    if (request.sweep == SweepRounds::no) {
      cases.push_back(std::move(made));
    } else {
      for (CaseOptions& point : sweep_rounds(made)) cases.push_back(std::move(point));
    }
  }
  return cases;
}

// Of ranks that were started one by one the first speaks for all; each has its own exit code.
bool speaks(const BenchRequest& request) {
  return !request.world.membership || request.world.membership->rank == 0;
}

void print_bench(const BenchRequest& request, const std::vector<BenchResult>& results) {
  bool any_ran = false;
  for (const BenchResult& result : results) any_ran |= !result.arms.empty();
  if (any_ran && speaks(request)) fmt::print("{}", bench_table(results));
  std::fflush(stdout);
  std::vector<std::string> reasons;
  for (const BenchResult& result : results) {
    reasons.insert(reasons.end(), result.messages.begin(), result.messages.end());
  }
  print_reasons(reasons);
  for (const BenchResult& result : results) {
    if (result.verdict == Verdict::pass || result.verdict == Verdict::refused) continue;
    fmt::print(stderr, "reproduce: {}\n", result.reproduce);
  }
  std::fflush(stderr);
  if (speaks(request)) fmt::print("{}\n", bench_verdict(results));
}

int bench(const CLI::App& app, BenchRequest& request) {
  take_membership(app, request);
  if (request.operator_word.empty() && !request.gate.empty()) request.operator_word = "all";
  const std::vector<OperatorKind> kinds = operators_of(request, AllOperators::allowed);
  check_combinations(request);
  request.bench.inputs = request.options.inputs;
  request.bench.launches = static_cast<int>(std::min<std::int64_t>(request.launches, 1 << 30));
  // They are told together with what the planner has against each case.
  request.options.reasons = request.reasons;
  std::vector<CaseOptions> cases;
  request.collect([&] {
    if (!kinds.empty()) cases = cases_of(request, kinds);
  });
  if (cases.empty() && request.is_refused()) return exit_code(ErrorKind::refused);
  ProgressLine progress;
  const std::vector<BenchResult> results =
      bench_cases(request.world, cases, request.bench,
                  [&progress](const std::string& line) { progress.show(line); });
  progress.clear();
  print_bench(request, results);
  if (!speaks(request)) return bench_exit_code(results);
  if (!request.json.empty()) write_text_file(request.json, bench_json(results));
  if (!request.page.empty()) write_text_file(request.page, bench_page(results));
  return bench_exit_code(results);
}

}  // namespace

void add_bench(CLI::App& program, int& exit_code) {
  CLI::App* app = program.add_subcommand("bench", "how fast operators are here, beside others");
  const auto request = std::make_shared<BenchRequest>();
  request->command = "tandem bench";
  add_problem_options(*app, *request);
  request->ranks = app->get_option("--ranks");
  app->add_flag("--bias", request->options.problem.bias, "C gets a bias");
  add_input_options(*app, *request);
  add_world_options(*app, *request);
  add_membership_options(*app, *request);
  app->add_option_function<std::string>(
         "--arms", [request](const std::string& text) { take_arms(*request, text); },
         "what to time [all there are]")
      ->type_name("fused,serial,baseline,compute,comm");
  app->add_flag_callback(
      "--cold", [request] { request->bench.caches = BenchCaches::cold; },
      "flush the caches before each timed launch [this]");
  app->add_flag_callback(
      "--warm", [request] { request->bench.caches = BenchCaches::warm; },
      "one launch of the same arm before each timed one");
  app->add_option_function<std::string>(
         "--pin", [request](const std::string& text) { take_pin(*request, text); },
         "ranks to cores of their own, where there are enough [on]")
      ->type_name("on|off");
  add_number(*app, *request, "--launches", request->launches,
             "timed launches of each arm; 0: as many as fit into --seconds [0]");
  add_real(*app, *request, "--seconds", request->bench.seconds,
           "of timed launches and flushes, a case [3]", "S");
  app->add_option_function<std::string>(
         "--compute", [request](const std::string& text) { take_compute(*request, text); },
         "sleep: products take time and no processor, as an accelerator [real]")
      ->type_name("real|sleep");
  add_real(*app, *request, "--sleep-gflops", request->bench.sleep_gflops,
           "speed of a rank that sleeps; default: products take as long as transfers", "X");
  app->add_flag_callback(
      "--sweep-tiles", [request] { request->sweep = SweepRounds::yes; },
      "1, 2, 4, ... rounds, while one has 16 rows");
  app->add_option("--gate", request->gate,
                  "CSV list of shapes, on 2 and on 4 ranks unless -R is given")
      ->type_name("FILE");
  app->add_option("--html", request->page, "a page with the curve of the sweep")->type_name("FILE");
  app->add_option("--json", request->json, "write every number to a file")->type_name("FILE");
  app->callback([app, request, &exit_code] { exit_code = bench(*app, *request); });
}

}  // namespace tandem::cli
