// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/membership.h"
#include "cli/output.h"
#include "cli/request.h"
#include "tandem/case.h"
#include "tandem/error.h"

namespace tandem::cli {
namespace {

struct RunRequest : Request {
  std::string cases;
  std::int64_t scale_down = 1;
  std::string json;
  CLI::Option* bias = nullptr;
};

// Options that contradict each other, whatever the operator.
void check_combinations(RunRequest& request) {
  const OperandFiles& files = request.options.files;
  const bool has_operands = !files.a.empty() || !files.b.empty() || !files.bias.empty();
  const bool has_files = has_operands || !files.out.empty();
  const Extents& given = request.given;
  if (!request.cases.empty() && (given.m || given.n || given.k)) {
    request.refuse("-m, -n or -k is given beside --cases", "leave it out, the list gives them");
  }
  if (!request.cases.empty() && has_files) {
    request.refuse("an operand or result file is given beside --cases", "run the case by itself");
  }
  if (request.cases.empty() && request.operator_word == "all" && has_files) {
    request.refuse("a file is given for all operators", "name one operator");
  }
  if (request.cases.empty() && request.scale_down != 1) {
    request.refuse("--scale-down is given without --cases", "choose -m, -n and -k");
  }
  if (request.device != "host") {
    request.refuse(fmt::format("--device {} has no cores here", request.device),
                   "run on host, or ask 'tandem plan'");
  }
  request.check_output("--out", files.out);
  if (!request.check_output("--json", request.json)) request.json.clear();
}

void take_bias(RunRequest& request) {
  if (request.bias->count() == 0) return;
  request.options.problem.bias = true;
  const std::vector<std::string>& values = request.bias->results();
  // The parser puts "true" for an option without its value.
  if (values.empty() || values[0] == "true") return;
  if (request.operator_word.empty()) {
    request.operator_word = values[0];  // tandem run --bias OPERATOR
  } else {
    request.options.files.bias = values[0];
  }
}

std::vector<CaseOptions> cases_of(RunRequest& request, const std::vector<OperatorKind>& kinds) {
  if (!request.cases.empty()) {
    CaseListOptions list{
        .path = request.cases, .op = {}, .scale_down = request.scale_down, .base = request.options};
    if (request.operator_word != "all") list.op = kinds[0];
    return read_case_list(list);
  }
  std::vector<CaseOptions> cases;
  for (const OperatorKind kind : kinds) {
    CaseOptions& made = cases.emplace_back(request.options);
    made.problem = problem_of(request, kind);
    try {
      made.problem = fit_to_files(made.problem, made.files, request.given);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::refused) throw;
      made.reasons.emplace_back(error.what());
      made.files = {};  // the planner judges the rest
    }
  }
  return cases;
}

// Of ranks that were started one by one the first speaks for all; each has its own exit code.
bool speaks(const RunRequest& request) {
  return !request.world.membership || request.world.membership->rank == 0;
}

int run(const CLI::App& app, RunRequest& request) {
  take_bias(request);
  take_membership(app, request);
  const std::vector<OperatorKind> kinds = operators_of(request, AllOperators::allowed);
  check_combinations(request);
  request.options.reasons = request.reasons;
  std::vector<CaseOptions> cases;
  request.collect([&] {
    if (!kinds.empty()) cases = cases_of(request, kinds);
  });
  if (cases.empty()) print_reasons(request.reasons);
  ProgressLine progress;
  const std::vector<CaseResult> results = run_cases(
      request.world, cases, [&progress](const std::string& line) { progress.show(line); });
  progress.clear();
  if (!cases.empty() && speaks(request)) print_results(results);
  if (!cases.empty() && !speaks(request)) print_failures(results);
  if (!request.json.empty() && speaks(request)) {
    const std::vector<std::string> reasons =
        cases.empty() ? request.reasons : std::vector<std::string>{};
    write_text_file(request.json, results_json(request.world, results, reasons));
  }
  return exit_code_of(results);
}

}  // namespace

void add_run(CLI::App& program, int& exit_code) {
  CLI::App* app = program.add_subcommand("run", "run operators and check every element of C");
  const auto request = std::make_shared<RunRequest>();
  request->command = "tandem run";
  add_problem_options(*app, *request);
  request->bias = app->add_option("--bias", "add a bias: drawn, or FP32 or FP16 from a .npy file")
                      ->expected(0, 1)
                      ->type_name("[FILE]");
  add_run_options(*app, *request);
  add_membership_options(*app, *request);
  app->add_option("--cases", request->cases,
                  "CSV list of shapes: m, k, n, and ranks, operator, head_m, buffer_count")
      ->type_name("FILE");
  add_number(*app, *request, "--scale-down", request->scale_down,
             "divide the extents of a list by this; odd ones stay odd [1]");
  app->add_option("--device", request->device, "host [host]")->type_name("NAME");
  app->add_option("--json", request->json, "write every number to a file")->type_name("FILE");
  app->callback([app, request, &exit_code] { exit_code = run(*app, *request); });
}

}  // namespace tandem::cli
