// SPDX-License-Identifier: Apache-2.0
#include "tandem/planning.h"

#include "base/strings.h"
#include "host/transport/transport.h"
#include "ops/registry.h"
#include "plan/print.h"
#include "plan_json.h"
#include "report/device_json.h"
#include "report/requirement_json.h"
#include "tandem/error.h"
#include "tandem/world.h"

namespace tandem {
namespace {

// Why these figures describe no link; empty if none are given.
std::string link_reasons(const PlanOptions& options, const Device& device) {
  if (!options.link_mb_s && !options.link_latency_us) return "";
  std::string reasons;
  const auto refuse = [&](const std::string& reason) {
    reasons += cat(reasons.empty() ? "" : "\n", "plan: ", reason);
  };
  if (!options.link_mb_s || !options.link_latency_us) {
    refuse("--link-mb-s and --link-latency-us describe a link together; give both");
  }
  constexpr std::int64_t kMax = 1'000'000'000;
  const auto check = [&](std::string_view name, std::optional<std::int64_t> value) {
    if (value && (*value < 1 || *value > kMax)) {
      refuse(cat(name, " is ", *value, "; use 1 to ", kMax));
    }
  };
  check("--link-mb-s", options.link_mb_s);
  check("--link-latency-us", options.link_latency_us);
  if (!device.shared_workers) {
    refuse(cat("rounds on ", device.name, " don't follow a link's figures; leave them out"));
  }
  return reasons;
}

Plan plan_on(const Problem& problem, const PlanOptions& options) {
  Device device = load_device(options.device);
  // Only devices without cores of their own ask how many workers there are.
  if (device.shared_workers) {
    device.cores = options.workers.value_or(default_workers(problem.ranks));
  }
  std::string reasons = link_reasons(options, device);
  if (options.link_mb_s && reasons.empty()) {
    device.linked = problem.ranks > 1;
    device.costs.link_mb_s = *options.link_mb_s;
    device.costs.link_latency_ns = *options.link_latency_us * 1000;
  }
  try {
    Plan plan = make_plan(problem, device);
    if (reasons.empty()) return plan;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    reasons = reasons.empty() ? error.what() : cat(error.what(), '\n', reasons);
  }
  throw Error(ErrorKind::refused, reasons);
}

// "name   text" with the texts below each other.
std::string listed(const std::vector<std::pair<std::string, std::string>>& lines) {
  std::size_t width = 0;
  for (const auto& [name, text] : lines) width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, text] : lines) {
    out += name + std::string(width - name.size() + 2, ' ') + text + '\n';
  }
  return out;
}

}  // namespace

std::string plan_text(const Problem& problem, const PlanOptions& options) {
  return print_plan(plan_on(problem, options));
}

std::string plan_json(const Problem& problem, const PlanOptions& options) {
  return plan_to_json(plan_on(problem, options));
}

RouteReport route_file(const std::string& path) {
  const RouteAnswer answer = route(load_requirement(path));
  return {.text = route_text(answer),
          .json = route_json(answer),
          .supported = answer.route != Route::unsupported};
}

std::string list_operators() {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const OperatorEntry& entry : all_operators()) {
    lines.emplace_back(to_string(entry.kind), cat(entry.summary, " (", entry.scenario, ")"));
  }
  return listed(lines);
}

std::string list_scenarios() { return scenarios_text(); }

std::string list_devices() {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const std::string& name : device_names()) {
    lines.emplace_back(name, load_device(name).description);
  }
  return listed(lines);
}

std::string list_transports() {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const host::TransportEntry& entry : host::all_transports()) {
    lines.emplace_back(entry.name, entry.summary);
  }
  return listed(lines);
}

}  // namespace tandem
