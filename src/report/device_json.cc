// SPDX-License-Identifier: Apache-2.0
#include "report/device_json.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "report/device_table.h"
#include "report/json_input.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::int64_t kBytesMax = std::int64_t{1} << 50;
constexpr std::int64_t kElementsMax = std::int64_t{1} << 20;
constexpr std::int64_t kCostMax = 1'000'000'000'000;

struct Limits {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

// Calls visit(path, field) or visit(path, field, limits) for each field, in the order of the file.
// "rules.x" stands in the object "rules".
template <typename D, typename Visitor>
void visit_rules(D& rules, Visitor&& visit) {
  visit("rules.ranks_max", rules.ranks_max, Limits{1, 64});
  visit("rules.k_multiple", rules.k_multiple, Limits{0, kElementsMax});
  visit("rules.scale_pairs_multiple", rules.scale_pairs_multiple, Limits{0, kElementsMax});
  visit("rules.n_multiple", rules.n_multiple, Limits{0, kElementsMax});
  visit("rules.tail_rows_multiple", rules.tail_rows_multiple, Limits{0, kElementsMax});
  visit("rules.equal_parts", rules.equal_parts);
  visit("rules.empty_allowed", rules.empty_allowed);
  visit("rules.fragments_max", rules.fragments_max, Limits{1, 64});
  visit("rules.blocks_at_least_ranks", rules.blocks_at_least_ranks);
  visit("rules.reduce_core_needed", rules.reduce_core_needed);
  visit("rules.round_id_max", rules.round_id_max, Limits{0, 15});
}

template <typename D, typename Visitor>
void visit_memory(D& memory, Visitor&& visit) {
  visit("memory.window_bytes", memory.window_bytes, Limits{0, kBytesMax});
  visit("memory.ub_bytes", memory.ub_bytes, Limits{1, kBytesMax});
  visit("memory.ub_guard_bytes", memory.ub_guard_bytes, Limits{0, kBytesMax});
  visit("memory.l1_bytes", memory.l1_bytes, Limits{0, kBytesMax});
  visit("memory.l0a_bytes", memory.l0a_bytes, Limits{0, kBytesMax});
  visit("memory.l0c_bytes", memory.l0c_bytes, Limits{0, kBytesMax});
  visit("memory.strided_rows_max", memory.strided_rows_max, Limits{0, kElementsMax});
}

template <typename D, typename Visitor>
void visit_device(D& device, Visitor&& visit) {
  visit("name", device.name);
  visit("description", device.description);
  visit("shared_workers", device.shared_workers);
  visit("cores", device.cores, Limits{0, 4096});
  visit("rounds", device.rounds);
  visit("base_m", device.base_m, Limits{0, kElementsMax});
  visit("base_n", device.base_n, Limits{0, kElementsMax});
  visit("rows_lane_max", device.rows_lane_max, Limits{0, kElementsMax});
  visit("flag_depth", device.flag_depth, Limits{1, 15});
  visit_rules(device.rules, visit);
  visit_memory(device.memory, visit);
  visit_costs(device.costs, [&](std::string_view name, auto& cost) {
    visit("costs." + std::string(name), cost, Limits{0, kCostMax});
  });
}

// "rules.x" → {"rules", "x"}; "x" → {"", "x"}.
std::pair<std::string, std::string> split_path(std::string_view path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return {"", std::string(path)};
  return {std::string(path.substr(0, dot)), std::string(path.substr(dot + 1))};
}

// Keys by object ("" is the file itself), and the paths of numbers.
struct Schema {
  std::map<std::string, std::vector<std::string>> keys;
  std::vector<std::string> numbers;
};

template <typename T>
constexpr bool kIsNumber = std::is_integral_v<T> && !std::is_same_v<T, bool>;

Schema device_schema() {
  Schema schema;
  Device device;
  schema.keys[""] = {};
  visit_device(device, [&](std::string_view path, auto& field, Limits = {}) {
    const auto [group, key] = split_path(path);
    schema.keys[group].push_back(key);
    if (kIsNumber<std::remove_reference_t<decltype(field)>>) schema.numbers.emplace_back(path);
  });
  for (const auto& [group, keys] : schema.keys) {
    if (!group.empty()) schema.keys[""].push_back(group);
  }
  schema.keys[""].emplace_back("sources");
  return schema;
}

void refuse_unknown_keys(const nlohmann::json& object, const std::string& group,
                         const std::vector<std::string>& known, JsonProblems& problems) {
  const std::vector<std::string_view> words(known.begin(), known.end());
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string place = group.empty() ? "" : group + ".";
    problems.add("unknown key " + shown(place + key),
                 "remove it or use one of " + joined_words(words));
  }
}

// The objects of the file by group, without those that are missing or no objects.
std::map<std::string, const nlohmann::json*> collect_groups(const nlohmann::json& json,
                                                            const Schema& schema,
                                                            JsonProblems& problems) {
  std::map<std::string, const nlohmann::json*> groups;
  for (const auto& [group, keys] : schema.keys) {
    const auto found = group.empty() ? json.end() : json.find(group);
    if (group.empty()) {
      groups[group] = &json;
    } else if (found == json.end()) {
      problems.add("key \"" + group + "\" is missing",
                   "add an object with " + joined_words({keys.begin(), keys.end()}));
      continue;
    } else if (!found->is_object()) {
      problems.add(group + " is " + shown(*found), "use an object");
      continue;
    } else {
      groups[group] = &*found;
    }
    refuse_unknown_keys(*groups[group], group, keys, problems);
  }
  return groups;
}

class FieldReader {
 public:
  FieldReader(const std::map<std::string, const nlohmann::json*>& groups, JsonProblems& problems)
      : groups_(groups), problems_(problems) {}

  void operator()(std::string_view path, std::string& field) {
    const nlohmann::json* value = find(path);
    if (!value) return;
    if (auto read = read_string(*value, path, problems_)) field = *read;
  }
  void operator()(std::string_view path, bool& field) {
    const nlohmann::json* value = find(path);
    if (!value) return;
    if (auto read = read_bool(*value, path, problems_)) field = *read;
  }
  void operator()(std::string_view path, RoundsRule& field) {
    const nlohmann::json* value = find(path);
    if (!value) return;
    if (auto read = read_word<RoundsRule>(*value, path, problems_)) field = *read;
  }
  template <typename T>
  void operator()(std::string_view path, T& field, Limits limits) {
    const nlohmann::json* value = find(path);
    if (!value) return;
    if (auto read = read_integer(*value, path, limits.low, limits.high, problems_)) {
      field = static_cast<T>(*read);
    }
  }

 private:
  const nlohmann::json* find(std::string_view path) {
    const auto [group, key] = split_path(path);
    const auto object = groups_.find(group);
    if (object == groups_.end()) return nullptr;  // reported already
    const auto value = object->second->find(key);
    if (value != object->second->end()) return &*value;
    problems_.add("key \"" + std::string(path) + "\" is missing", "add it");
    return nullptr;
  }

  const std::map<std::string, const nlohmann::json*>& groups_;
  JsonProblems& problems_;
};

std::map<std::string, std::string> read_sources(const nlohmann::json& json, const Schema& schema,
                                                JsonProblems& problems) {
  std::map<std::string, std::string> sources;
  const auto found = json.find("sources");
  if (found == json.end() || !found->is_object()) {
    problems.add("sources is " + (found == json.end() ? "missing" : shown(*found)),
                 "add an object that says for each number where it comes from, or \"guess\"");
    return sources;
  }
  for (const auto& [path, source] : found->items()) {
    if (std::find(schema.numbers.begin(), schema.numbers.end(), path) == schema.numbers.end()) {
      problems.add("sources names " + shown(path) + ", which is no number of a device",
                   "remove it");
    } else if (auto text = read_string(source, "sources." + path, problems)) {
      sources[path] = *text;
    }
  }
  for (const std::string& path : schema.numbers) {
    if (found->contains(path)) continue;
    problems.add("sources does not say where " + path + " comes from",
                 "add a source, or \"guess\"");
  }
  return sources;
}

// Rules between fields.
void check_consistency(const Device& device, JsonProblems& problems) {
  const DeviceMemory& memory = device.memory;
  if ((device.base_m == 0) != (device.base_n == 0)) {
    problems.add("base_m is " + std::to_string(device.base_m) + " and base_n is " +
                     std::to_string(device.base_n),
                 "give both for a fixed base block, or 0 for both");
  }
  const bool derived = device.base_m == 0 && device.base_n == 0;
  if (derived && (memory.l1_bytes == 0 || memory.l0a_bytes == 0 || memory.l0c_bytes == 0)) {
    problems.add(
        "without a fixed base block the tiling needs l1_bytes, l0a_bytes and l0c_bytes, "
        "one of them is 0",
        "give them, or base_m and base_n");
  }
  if (memory.ub_guard_bytes >= memory.ub_bytes) {
    problems.add("ub_guard_bytes " + std::to_string(memory.ub_guard_bytes) +
                     " leaves nothing of ub_bytes " + std::to_string(memory.ub_bytes),
                 "use a smaller guard");
  }
}

const EmbeddedDevice* find_embedded(std::string_view name) {
  for (const EmbeddedDevice& device : embedded_devices()) {
    if (device.name == name) return &device;
  }
  return nullptr;
}

[[noreturn]] void refuse_unknown_device(std::string_view name) {
  std::vector<std::string_view> names;
  for (const EmbeddedDevice& device : embedded_devices()) names.push_back(device.name);
  throw Error(ErrorKind::refused, "device " + std::string(name) +
                                      ": no built-in device and no file; use one of " +
                                      joined_words(names) + ", or the path of a JSON file");
}

}  // namespace

DeviceFile parse_device_file(std::string_view json_text, std::string_view name_for_errors) {
  JsonProblems problems("device " + std::string(name_for_errors));
  const nlohmann::json json = parse_object(json_text, problems);
  const Schema schema = device_schema();
  DeviceFile file;
  const auto groups = collect_groups(json, schema, problems);
  FieldReader reader(groups, problems);
  visit_device(file.device, reader);
  file.sources = read_sources(json, schema, problems);
  if (problems.empty()) check_consistency(file.device, problems);
  problems.throw_if_any();
  return file;
}

Device parse_device(std::string_view json_text, std::string_view name_for_errors) {
  return parse_device_file(json_text, name_for_errors).device;
}

std::string print_device_file(const DeviceFile& file) {
  nlohmann::ordered_json json;
  visit_device(file.device, [&](std::string_view path, const auto& field, Limits = {}) {
    const auto [group, key] = split_path(path);
    auto& object = group.empty() ? json : json[group];
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(field)>>) {
      object[key] = to_string(field);
    } else {
      object[key] = field;
    }
  });
  json["sources"] = file.sources;
  return json.dump(2) + '\n';
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const EmbeddedDevice& device : embedded_devices()) names.emplace_back(device.name);
  return names;
}

std::string_view device_text(std::string_view name) {
  const EmbeddedDevice* device = find_embedded(name);
  if (!device) refuse_unknown_device(name);
  return device->text;
}

Device load_device(std::string_view name_or_path) {
  if (const EmbeddedDevice* device = find_embedded(name_or_path)) {
    return parse_device(device->text, device->name);
  }
  const std::string path(name_or_path);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) refuse_unknown_device(name_or_path);
  return parse_device(read_small_file(path), path);
}

}  // namespace tandem
