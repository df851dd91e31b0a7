// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/request.h"
#include "tandem/case.h"
#include "tandem/checking.h"
#include "tandem/error.h"
#include "tandem/planning.h"

namespace tandem::cli {
namespace {

struct CheckRequest : Request {
  CheckOptions check;
  std::vector<CLI::Option*> shape;  // whatever makes the problem another one
  std::int64_t launches = 2;
  std::int64_t schedules = 100;
  std::int64_t seed = 1;
  std::int64_t queue_depth = 32;
  std::string strategy = "canonical";
  std::string json;
  bool footprint = false;
  bool no_shrink = false;
  bool table = false;
};

std::string strategy_words() {
  std::string words;
  for (const auto& [strategy, name] : kEnumNames<CheckStrategy>) {
    words += fmt::format("{}{}", words.empty() ? "" : "|", name);
  }
  return words;
}

// Small enough that a check takes a moment, with tails and uneven shares where the device allows.
Extents default_extents(const Problem& problem, const std::string& device) {
  const std::int64_t ranks = std::max(problem.ranks, 1);
  const bool splits_k = problem.op == OperatorKind::all_to_all_matmul;
  const bool splits_n = problem.op == OperatorKind::matmul_all_gather;
  const bool splits_m = problem.op == OperatorKind::matmul_reduce_scatter;
  if (device == "host") {
    return {.m = splits_m ? 37 * ranks + 1 : 37,
            .n = splits_n ? 21 * ranks + 1 : 45,
            .k = splits_k ? 64 * ranks + 40 : 200};
  }
  return {.m = splits_m ? 64 * ranks : 64,
          .n = splits_n ? 32 * ranks : 64,
          .k = splits_k ? 128 * ranks : 256};
}

int narrowed(CheckRequest& request, const std::string& name, std::int64_t value, int low) {
  constexpr std::int64_t kMax = 1'000'000;
  if (value < low || value > kMax) {
    request.refuse(fmt::format("{} is {}", name, value), fmt::format("use {} to {}", low, kMax));
    return low;
  }
  return static_cast<int>(value);
}

// What does not depend on the operator.
void take_common(CheckRequest& request, CheckOptions& options) {
  options.schedules = narrowed(request, "--schedules", request.schedules, 0);
  options.variant = request.check.variant;
  options.mutant = request.check.mutant;
  options.replay = request.check.replay.empty() ? options.replay : request.check.replay;
  options.profile = request.check.profile;
  options.profile.queue_depth = narrowed(request, "--queue-depth", request.queue_depth, 1);
  options.seed = static_cast<std::uint64_t>(request.seed);
  options.shrink = request.no_shrink ? CheckShrink::off : CheckShrink::on;
  if (const auto strategy = try_parse<CheckStrategy>(request.strategy)) {
    options.strategy = *strategy;
  } else {
    request.refuse(fmt::format("--strategy is '{}'", request.strategy), "use " + strategy_words());
  }
}

// Whether a planted error is run in the case in which it is known to show: where no problem is
// described, and the operator, if one is named, is the error's own.
bool runs_own_case(const CheckRequest& request) {
  if (planted_error(request.check).empty()) return false;
  if (request.operator_word.empty()) return true;
  const bool described = std::ranges::any_of(
      request.shape, [](const CLI::Option* option) { return option->count() > 0; });
  return !described && request.operator_word == to_string(own_case(request.check).problem.op);
}

CheckOptions options_of_own_case(CheckRequest& request) {
  CheckOptions options = own_case(request.check);
  take_common(request, options);
  if (options.strategy != CheckStrategy::canonical) options.replay = request.check.replay;
  return options;
}

CheckOptions options_of(CheckRequest& request, OperatorKind op) {
  CheckOptions options = request.check;
  take_common(request, options);
  Problem problem = request.options.problem;
  problem.op = op;
  const Extents usual = default_extents(problem, request.device);
  problem.m = request.given.m.value_or(*usual.m);
  problem.n = request.given.n.value_or(*usual.n);
  problem.k = request.given.k.value_or(*usual.k);
  options.problem = problem;
  options.device = request.device;
  options.launches = narrowed(request, "--launches", request.launches, 1);
  options.data = request.footprint ? CheckData::footprint : CheckData::values;
  return options;
}

// What there is to run; reasons of the request, if there are any, come with the library's own.
CheckOptions make_options(CheckRequest& request) {
  CheckOptions options;
  request.check_output("--json", request.json);
  request.collect([&] {
    if (runs_own_case(request)) {
      options = options_of_own_case(request);
    } else {
      const auto kinds = operators_of(request, AllOperators::refused);
      options = options_of(request, kinds.empty() ? OperatorKind{} : kinds[0]);
      if (kinds.empty()) options.variant.clear();  // whose form it would be is not known
    }
    validate(options);
    // What the planner has against it is told together with the other reasons.
    if (!request.reasons.empty()) plan_text(options.problem, {.device = options.device});
  });
  return options;
}

int check(CheckRequest& request) {
  ProgressLine progress;
  const auto show = [&progress](const std::string& line) { progress.show(line); };
  if (request.table) {
    const std::string table = check_table(show);
    progress.clear();
    fmt::print("{}", table);
    return 0;
  }
  const CheckOptions options = make_options(request);
  CheckReport report;
  request.collect([&] {
    if (request.reasons.empty()) report = run_check(options, show);
  });
  progress.clear();
  if (request.is_refused()) return exit_code(ErrorKind::refused);
  fmt::print("{}", check_text(report));
  if (!request.json.empty()) write_text_file(request.json, check_json(options, report));
  return exit_code(report);
}

void add_check_options(CLI::App& app, CheckRequest& request) {
  app.add_flag("--bias", request.options.problem.bias, "C gets a bias");
  app.add_option("--device", request.device,
                 "a built-in device or a device file; see 'tandem list devices' [host]")
      ->type_name("NAME|FILE");
  app.add_option("--strategy", request.strategy, "which schedules, beside the first [canonical]")
      ->type_name(strategy_words());
  add_number(app, request, "--schedules", request.schedules, "at most so many others [100]");
  add_number(app, request, "--seed", request.seed, "of the schedules and the operands [1]");
  add_number(app, request, "--launches", request.launches, "one after the other [2]");
  app.add_flag("--footprint", request.footprint, "addresses only, no values: for large shapes");
  add_number(app, request, "--queue-depth", request.queue_depth, "operations a pipe holds [32]");
  app.add_flag("--overlapped-vector", request.check.profile.overlapped_vector,
               "vector operations of a core may overlap");
  app.add_flag("--weak-drain", request.check.profile.weak_drain,
               "a drain only says that the source may be reused");
  app.add_option("--variant", request.check.variant,
                 "a named form, or upstream's error; see 'tandem list variants'")
      ->type_name("NAME");
  app.add_option(
         "--mutant", request.check.mutant,
         "plant an error; in its own case unless a shape is given; see 'tandem list mutants'")
      ->type_name("NAME");
  app.add_option("--replay", request.check.replay, "one schedule, as a report printed it")
      ->type_name("TOKEN");
  app.add_flag("--no-shrink", request.no_shrink, "do not look for a smaller case that fails");
  app.add_option("--json", request.json, "write the report to a file")->type_name("FILE");
  app.add_flag("--table", request.table, "check what docs/checker-table.md lists and print it");
}

}  // namespace

void add_check(CLI::App& program, int& exit_code) {
  CLI::App* app =
      program.add_subcommand("check", "look for hangs and races in all orders of events");
  const auto request = std::make_shared<CheckRequest>();
  request->command = "tandem check";
  add_problem_options(*app, *request);
  request->shape = app->get_options([](const CLI::Option* option) {
    return option->get_name(true) != "OPERATOR" && !option->check_name("--help");
  });
  add_check_options(*app, *request);
  app->callback([request, &exit_code] { exit_code = check(*request); });
}

}  // namespace tandem::cli
