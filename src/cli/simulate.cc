// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/request.h"
#include "tandem/case.h"
#include "tandem/error.h"
#include "tandem/planning.h"
#include "tandem/simulating.h"

namespace tandem::cli {
namespace {

struct SimulateRequest : Request {
  SimulateOptions simulate;
  bool sweep = false;
  std::string trace, page, json;
};

template <typename T>
bool read_whole(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return !text.empty() && parsed.ec == std::errc() && parsed.ptr == end;
}

// "RANK:us"
void take_straggler(SimulateRequest& request, const std::string& text) {
  const std::size_t colon = text.find(':');
  std::pair<int, double> late;
  const std::string_view whole(text);
  if (colon != std::string::npos && read_whole(whole.substr(0, colon), late.first) &&
      read_whole(whole.substr(colon + 1), late.second)) {
    request.simulate.stragglers.push_back(late);
  } else {
    request.refuse(fmt::format("--straggler is '{}'", text), "use RANK:MICROSECONDS, like 1:20");
  }
}

// "COST=factor"
void take_scale(SimulateRequest& request, const std::string& text) {
  const std::size_t equals = text.find('=');
  double factor = 0;
  if (equals != std::string::npos &&
      read_whole(std::string_view(text).substr(equals + 1), factor)) {
    request.simulate.scales.emplace_back(text.substr(0, equals), factor);
  } else {
    request.refuse(fmt::format("--scale is '{}'", text), "use COST=FACTOR, like hbm_mb_s=0.5");
  }
}

int simulate(SimulateRequest& request) {
  const std::vector<OperatorKind> kinds = operators_of(request, AllOperators::refused);
  SimulateReport report;
  request.check_output("--trace", request.trace);
  request.check_output("--html", request.page);
  request.check_output("--json", request.json);
  request.collect([&] {
    if (kinds.empty()) return;
    SimulateOptions& options = request.simulate;
    options.device = request.device;
    options.workers = request.world.workers;
    options.sweep = request.sweep ? SweepTiles::yes : SweepTiles::no;
    options.trace = !request.trace.empty();
    options.page = !request.page.empty();
    const Problem problem = problem_of(request, kinds[0]);
    // What the planner has against it is told together with the other reasons.
    if (!request.reasons.empty()) plan_text(problem, {.device = options.device});
    if (request.reasons.empty()) report = tandem::simulate(problem, options);
  });
  if (request.is_refused()) return exit_code(ErrorKind::refused);
  fmt::print("{}", report.text);
  if (!request.trace.empty()) write_text_file(request.trace, report.trace);
  if (!request.page.empty()) write_text_file(request.page, report.page);
  if (!request.json.empty()) write_text_file(request.json, report.json);
  return 0;
}

}  // namespace

void add_simulate(CLI::App& program, int& exit_code) {
  CLI::App* app = program.add_subcommand("simulate", "how long it would take on a device");
  const auto request = std::make_shared<SimulateRequest>();
  request->command = "tandem simulate";
  request->device = "ascend950pr";
  add_problem_options(*app, *request);
  app->add_flag("--bias", request->options.problem.bias, "C gets a bias");
  app->add_option("--device", request->device,
                  "a built-in device or a device file; see 'tandem list devices' [ascend950pr]")
      ->type_name("NAME|FILE");
  add_workers_option(*app, *request);
  app->add_flag("--sweep-tiles", request->sweep, "1, 2, 4, ... rounds, while one has 16 rows");
  app->add_option_function<std::vector<std::string>>(
         "--straggler",
         [request](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) take_straggler(*request, text);
         },
         "a rank that starts late; may be given again")
      ->type_name("RANK:us");
  app->add_option_function<std::vector<std::string>>(
         "--scale",
         [request](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) take_scale(*request, text);
         },
         "a cost of the device, times a factor; may be given again")
      ->type_name("COST=x");
  app->add_option("--trace", request->trace, "Chrome trace, for ui.perfetto.dev")
      ->type_name("FILE");
  app->add_option("--html", request->page, "a page with pictures")->type_name("FILE");
  app->add_option("--json", request->json, "every number")->type_name("FILE");
  app->callback([request, &exit_code] { exit_code = simulate(*request); });
}

}  // namespace tandem::cli
