// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/request.h"
#include "tandem/error.h"
#include "tandem/planning.h"

namespace tandem::cli {
namespace {

struct PlanRequest : Request {
  bool json = false;
  std::optional<std::int64_t> link_mb_s;
  std::optional<std::int64_t> link_latency_us;
};

int plan(PlanRequest& request) {
  const std::vector<OperatorKind> kinds = operators_of(request, AllOperators::refused);
  std::string text;
  request.collect([&] {
    if (kinds.empty()) return;
    const Problem problem = problem_of(request, kinds[0]);
    const PlanOptions options{.device = request.device,
                              .workers = request.world.workers,
                              .link_mb_s = request.link_mb_s,
                              .link_latency_us = request.link_latency_us};
    text = request.json ? plan_json(problem, options) : plan_text(problem, options);
  });
  if (request.is_refused()) return exit_code(ErrorKind::refused);
  fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
  return 0;
}

}  // namespace

void add_plan(CLI::App& program, int& exit_code) {
  CLI::App* app = program.add_subcommand("plan", "print the plan, or every reason against it");
  const auto request = std::make_shared<PlanRequest>();
  request->command = "tandem plan";
  add_problem_options(*app, *request);
  app->add_flag("--bias", request->options.problem.bias, "C gets a bias");
  app->add_option("--device", request->device,
                  "a built-in device or a device file; see 'tandem list devices' [host]")
      ->type_name("NAME|FILE");
  add_workers_option(*app, *request);
  add_number(*app, *request, "--link-mb-s", request->link_mb_s,
             "the ranks are connected by a link of so many MB/s; default: memory");
  add_number(*app, *request, "--link-latency-us", request->link_latency_us,
             "and of this latency, as 'tandem selftest --transport' tells");
  app->add_flag("--json", request->json, "print JSON");
  app->callback([request, &exit_code] { exit_code = plan(*request); });
}

}  // namespace tandem::cli
