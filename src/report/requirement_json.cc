// SPDX-License-Identifier: Apache-2.0
#include "report/requirement_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "report/json_input.h"

namespace tandem {
namespace {

constexpr std::string_view kDescription = "description";

std::vector<std::string_view> field_names() {
  std::vector<std::string_view> names;
  const Requirement requirement;
  visit_fields(requirement, [&](std::string_view name, const auto&) { names.push_back(name); });
  names.push_back(kDescription);
  return names;
}

void append_list(std::string& text, std::string_view title, const std::vector<std::string>& list) {
  if (list.empty()) return;
  text += std::string(title) + ":\n";
  for (const std::string& line : list) text += "  " + line + '\n';
}

std::string criterion_text(const Criterion& criterion) {
  std::string text(criterion.field);
  text += " = ";
  for (std::size_t i = 0; i < criterion.words.size(); ++i) {
    if (i > 0) text += '|';
    text += criterion.words[i];
  }
  if (criterion.need == Need::consistent) text += " (if known)";
  return text;
}

}  // namespace

Requirement parse_requirement(std::string_view json_text, std::string_view name_for_errors) {
  JsonProblems problems("requirement " + std::string(name_for_errors));
  const nlohmann::json json = parse_object(json_text, problems);
  const std::vector<std::string_view> names = field_names();
  for (const auto& [key, value] : json.items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    problems.add("unknown field " + shown(key), "remove it or use one of " + joined_words(names));
  }
  if (const auto text = json.find(kDescription); text != json.end()) {
    read_string(*text, kDescription, problems);
  }
  Requirement requirement;
  visit_fields(requirement, [&]<typename E>(std::string_view name, std::optional<E>& field) {
    const auto value = json.find(name);
    if (value == json.end()) return;
    if constexpr (std::is_same_v<E, bool>) {
      field = read_bool(*value, name, problems);
    } else {
      field = read_word<E>(*value, name, problems);
    }
  });
  problems.throw_if_any();
  return requirement;
}

Requirement load_requirement(const std::string& path) {
  return parse_requirement(read_small_file(path), path);
}

std::string print_requirement(const Requirement& requirement) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  visit_fields(requirement, [&]<typename E>(std::string_view name, const std::optional<E>& field) {
    if (!field) return;
    if constexpr (std::is_same_v<E, bool>) {
      json[std::string(name)] = *field;
    } else {
      json[std::string(name)] = to_string(*field);
    }
  });
  return json.dump(2) + '\n';
}

std::string route_text(const RouteAnswer& answer) {
  std::string text = "selected scenario: " + selected_scenario(answer) + '\n';
  text += "route: " + std::string(to_string(answer.route)) + '\n';
  if (answer.scenario) {
    if (answer.route == Route::apace_native) text += "kernel: " + answer.id + '\n';
    text += "supports: " + std::string(answer.scenario->support) + '\n';
    text += "status: " + std::string(to_string(answer.scenario->status)) + " here, " +
            std::string(to_string(answer.scenario->upstream_status)) + " in the original design\n";
  }
  append_list(text, "reasons", answer.reasons);
  append_list(text, "missing", answer.missing);
  append_list(text, "to settle before a design", answer.open);
  append_list(text, "notes", answer.notes);
  return text;
}

std::string route_json(const RouteAnswer& answer) {
  nlohmann::ordered_json json;
  json["selected_scenario"] = selected_scenario(answer);
  json["route"] = to_string(answer.route);
  json["id"] = nullptr;
  json["operator"] = nullptr;
  json["support"] = nullptr;
  json["status"] = nullptr;
  json["upstream_status"] = nullptr;
  if (const Scenario* row = answer.scenario) {
    json["id"] = row->id;
    if (row->op) json["operator"] = to_string(*row->op);
    json["support"] = row->support;
    json["status"] = to_string(row->status);
    json["upstream_status"] = to_string(row->upstream_status);
  }
  json["reasons"] = answer.reasons;
  json["missing"] = answer.missing;
  json["open"] = answer.open;
  json["notes"] = answer.notes;
  return json.dump(2) + '\n';
}

std::string scenarios_text() {
  std::string text;
  for (const Scenario& row : scenarios()) {
    text += std::string(row.id) + '\n';
    text += "  status: " + std::string(to_string(row.status)) + " here, " +
            std::string(to_string(row.upstream_status)) + " in the original design\n";
    if (row.op) text += "  operator: " + std::string(to_string(*row.op)) + '\n';
    text += "  supports: " + std::string(row.support) + '\n';
    text += "  criteria:";
    for (std::size_t i = 0; i < row.criteria.size(); ++i) {
      text += (i == 0 ? " " : ", ") + criterion_text(row.criteria[i]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace tandem
