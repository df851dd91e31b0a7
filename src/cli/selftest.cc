// SPDX-License-Identifier: Apache-2.0
// Small cases of every operator on this machine, and one with a planted error that must be found.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "cli/calibrate.h"
#include "cli/commands.h"
#include "cli/membership.h"
#include "cli/mutants.h"
#include "cli/output.h"
#include "tandem/case.h"
#include "tandem/error.h"
#include "tandem/transport_check.h"

namespace tandem::cli {
namespace {

// Odd extents, uneven shares, a short group; then types, layouts, a bias and a ring of rounds.
std::vector<CaseOptions> make_cases() {
  std::vector<CaseOptions> cases;
  for (const auto& [op, name] : kEnumNames<OperatorKind>) {
    CaseOptions& alone = cases.emplace_back();
    alone.problem = {.op = op, .ranks = 1, .m = 37, .n = 33, .k = 40};
    alone.inputs.kind = InputKind::coded;
    CaseOptions& three = cases.emplace_back();
    three.problem = {.op = op, .ranks = 3, .m = 130, .n = 101, .k = 264};
    three.problem.dtype_b = ElementFormat::e5m2;
    three.problem.trans_a = true;
    three.problem.trans_b = true;
    three.problem.bias = true;
    three.problem.tiles = 3;
    three.repeat = 2;
    CaseOptions& four = cases.emplace_back();
    four.problem = {.op = op, .ranks = 4, .m = 64, .n = 128, .k = 512};
    four.problem.dtype_a = ElementFormat::e5m2;
    four.problem.dtype_c = OutputType::fp32;
    four.inputs.kind = InputKind::upstream;
  }
  return cases;
}

// False: a wrong element went unnoticed.
bool finds_planted_error(const WorldOptions& world) {
  CaseOptions options;
  options.problem = {.op = OperatorKind::all_gather_matmul, .ranks = 2, .m = 16, .n = 16, .k = 64};
  setenv("TANDEM_TEST_FAULT", "corrupt:rank=1,index=37", 1);
  const CaseResult result = run_case(world, options);
  unsetenv("TANDEM_TEST_FAULT");
  return result.verdict == Verdict::fail && result.differing == 1 && result.first->index == 37;
}

struct MutantArguments {
  bool asked = false;
  int configurations = 2000;
  int generated_step = 20;
};

int selftest() {
  ProgressLine progress;
  std::vector<CaseResult> results;
  for (const char* transport : {"shm", "threads"}) {
    WorldOptions world;
    world.transport = transport;
    const auto some = run_cases(world, make_cases(),
                                [&progress](const std::string& line) { progress.show(line); });
    results.insert(results.end(), some.begin(), some.end());
  }
  progress.clear();
  print_results(results);
  int code = exit_code_of(results);
  if (!finds_planted_error({})) {
    fmt::print(stderr, "tandem selftest: a planted error was not found; do not trust this build\n");
    code = code == 0 ? 1 : code;
  }
  return code;
}

// Exit code 1 if the transport lacks something that operators rely on.
int selftest_transport(const CLI::App& app, Request& request) {
  request.options.problem.ranks = app.count("--ranks") > 0 ? request.options.problem.ranks : 2;
  take_membership(app, request);
  request.world.ranks = request.options.problem.ranks;
  if (request.is_refused()) return exit_code(ErrorKind::refused);
  bool sound = true;
  // Of ranks that were started one by one the first speaks for all.
  const bool speaks = !request.world.membership || request.world.membership->rank == 0;
  for (const TransportCheck& check : check_transport(request.world)) {
    sound = sound && check.passed;
    if (!speaks) continue;
    fmt::print("{:<11}{:<5}{}\n", check.name, check.passed ? "ok" : "FAIL", check.observation);
  }
  const std::string& name = request.world.transport;
  if (speaks)
    fmt::print("{} {} over {} ranks\n", sound ? "PASS" : "FAIL", name, request.world.ranks);
  if (!sound) fmt::print(stderr, "tandem selftest: do not use --transport {} here\n", name);
  return sound ? 0 : 1;
}

}  // namespace

void add_selftest(CLI::App& program, int& exit_code) {
  CLI::App* app =
      program.add_subcommand("selftest", "small checks of every operator on this machine");
  const auto wanted = std::make_shared<MutantArguments>();
  CLI::Option* mutants =
      app->add_flag("--mutants", wanted->asked, "known errors that the checker must find, instead");
  app->add_option("--configurations", wanted->configurations,
                  "with --mutants: correct programs drawn at random [2000]")
      ->needs(mutants)
      ->check(CLI::Range(0, 1000000))
      ->type_name("N");
  app->add_option("--generated-step", wanted->generated_step,
                  "with --mutants: of those made by rule each N-th, 0 for none [20]")
      ->needs(mutants)
      ->check(CLI::Range(0, 1000000))
      ->type_name("N");
  const auto costs = std::make_shared<CalibrateArguments>();
  CLI::Option* calibrates = app->add_flag("--calibrate", costs->measures,
                                          "what this machine costs, for predictions, instead");
  app->add_option("--out", costs->out, "with --calibrate: write a device file")
      ->needs(calibrates)
      ->type_name("FILE");
  CLI::Option* fits =
      app->add_flag("--fit", costs->fits, "run whole operators and predict them, instead");
  app->add_option("--device", costs->device, "with --fit alone: predict with this device [host]")
      ->needs(fits)
      ->excludes(calibrates)
      ->type_name("NAME|FILE");
  app->add_option("--launches", costs->launches, "with --fit: of each problem [15]")
      ->needs(fits)
      ->check(CLI::Range(1, 10000))
      ->type_name("N");
  mutants->excludes(calibrates)->excludes(fits);
  const auto request = std::make_shared<Request>();
  request->command = "tandem selftest";
  CLI::Option* transport =
      app->add_option("--transport", request->world.transport,
                      "check this transport instead: order, atomics, progress, speed")
          ->excludes(mutants)
          ->excludes(calibrates)
          ->excludes(fits)
          ->type_name("NAME");
  add_ranks_option(*app, *request, "with --transport: ranks [2]")->needs(transport);
  add_membership_options(*app, *request);
  add_timeout_option(*app, *request);
  app->callback([=, &exit_code] {
    if (transport->count() > 0) {
      exit_code = selftest_transport(*app, *request);
    } else if (costs->measures || costs->fits) {
      request->check_output("--out", costs->out);
      const bool refused = request->is_refused();
      exit_code = refused ? tandem::exit_code(ErrorKind::refused) : selftest_calibrate(*costs);
    } else if (wanted->asked) {
      exit_code = selftest_mutants(wanted->configurations, wanted->generated_step);
    } else {
      exit_code = selftest();
    }
  });
}

}  // namespace tandem::cli
