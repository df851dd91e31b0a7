// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "tandem/error.h"
#include "tandem/planning.h"

namespace tandem::cli {
namespace {

struct RouteRequest {
  std::string path;
  bool json = false;
};

}  // namespace

void add_route(CLI::App& program, int& exit_code) {
  CLI::App* app =
      program.add_subcommand("route", "which scenario serves a requirement: one, or why none");
  const auto request = std::make_shared<RouteRequest>();
  app->add_option("REQUIREMENT", request->path, "JSON file; see cases/requirements")->required();
  app->add_flag("--json", request->json, "print JSON");
  app->callback([request, &exit_code] {
    const RouteReport report = route_file(request->path);
    fmt::print("{}", request->json ? report.json : report.text);
    exit_code = report.supported ? 0 : tandem::exit_code(ErrorKind::refused);
  });
}

}  // namespace tandem::cli
