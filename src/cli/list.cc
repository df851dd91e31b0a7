// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "tandem/checking.h"
#include "tandem/error.h"
#include "tandem/planning.h"

namespace tandem::cli {
namespace {

constexpr std::array<std::pair<std::string_view, std::string (*)()>, 7> kTopics{
    {{"operators", list_operators},
     {"scenarios", list_scenarios},
     {"devices", list_devices},
     {"transports", list_transports},
     {"mutants", list_mutants},
     {"variants", list_variants},
     {"findings", list_findings}}};

std::string topic_names() {
  std::string names;
  for (const auto& [name, print] : kTopics)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

int list(const std::string& topic) {
  for (const auto& [name, print] : kTopics) {
    if (topic != name) continue;
    fmt::print("{}", print());
    return 0;
  }
  fmt::print(stderr, "tandem list: '{}' is no topic; use one of {}\n", topic, topic_names());
  return exit_code(ErrorKind::refused);
}

}  // namespace

void add_list(CLI::App& program, int& exit_code) {
  CLI::App* app = program.add_subcommand("list", "what there is: " + topic_names());
  const auto topic = std::make_shared<std::string>();
  app->add_option("TOPIC", *topic, topic_names())->required();
  app->callback([topic, &exit_code] { exit_code = list(*topic); });
}

}  // namespace tandem::cli
