// SPDX-License-Identifier: Apache-2.0
#include "report/device_json.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tandem/error.h"

namespace tandem {
namespace {

using nlohmann::json;

// The message with which `text` is refused; empty if it is accepted.
std::string refusal(const std::string& text) {
  try {
    parse_device(text, "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    return error.what();
  }
  return "";
}

std::string chip_text() { return std::string(device_text("ascend950pr")); }

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(DeviceJson, BuiltInDevicesAreNamedAfterTheirFiles) {
  EXPECT_EQ(device_names(), (std::vector<std::string>{"ascend950pr", "ascend950pr-28", "host"}));
  for (const std::string& name : device_names()) EXPECT_EQ(load_device(name).name, name);
}

TEST(DeviceJson, HostHasNoHardLimits) {
  const Device host = load_device("host");
  EXPECT_TRUE(host.shared_workers);
  EXPECT_EQ(host.cores, 0);
  EXPECT_EQ(host.rounds, RoundsRule::balanced);
  EXPECT_EQ(host.base_m, 144);
  EXPECT_EQ(host.base_n, 256);
  EXPECT_EQ(host.rows_lane_max, 8);
  EXPECT_EQ(host.flag_depth, 14);
  EXPECT_EQ(host.rules.ranks_max, 64);
  EXPECT_EQ(host.rules.k_multiple, 0);
  EXPECT_EQ(host.rules.scale_pairs_multiple, 0);
  EXPECT_EQ(host.rules.n_multiple, 0);
  EXPECT_EQ(host.rules.tail_rows_multiple, 0);
  EXPECT_FALSE(host.rules.equal_parts);
  EXPECT_TRUE(host.rules.empty_allowed);
  EXPECT_EQ(host.rules.fragments_max, 64);
  EXPECT_FALSE(host.rules.blocks_at_least_ranks);
  EXPECT_TRUE(host.rules.reduce_core_needed);
  EXPECT_EQ(host.memory.window_bytes, 0);
  EXPECT_EQ(host.memory.strided_rows_max, 0);
  // One segment of the reduction: 18 bytes a BF16 column.
  EXPECT_EQ((host.memory.ub_bytes - host.memory.ub_guard_bytes) / 18, 10209);
}

TEST(DeviceJson, TheTwoCardsDifferInTheirCoresAndMemoryOnly) {
  const Device card = load_device("ascend950pr");
  EXPECT_EQ(card.cores, 32);
  EXPECT_FALSE(card.shared_workers);
  EXPECT_EQ(card.rounds, RoundsRule::heads_tail);
  EXPECT_EQ(card.base_m, 0);
  EXPECT_EQ(card.rows_lane_max, 0);
  EXPECT_EQ(card.rules.k_multiple, 32);
  EXPECT_EQ(card.rules.scale_pairs_multiple, 2);
  EXPECT_EQ(card.rules.n_multiple, 16);
  EXPECT_EQ(card.rules.tail_rows_multiple, 16);
  EXPECT_TRUE(card.rules.equal_parts);
  EXPECT_FALSE(card.rules.empty_allowed);
  EXPECT_EQ(card.rules.fragments_max, 32);
  EXPECT_TRUE(card.rules.blocks_at_least_ranks);
  EXPECT_TRUE(card.rules.reduce_core_needed);
  EXPECT_EQ(card.rules.round_id_max, 13);
  EXPECT_EQ(card.memory.window_bytes, 200 * 1024 * 1024);
  EXPECT_EQ(card.memory.ub_bytes, 248 * 1024);
  EXPECT_EQ(card.memory.ub_guard_bytes, 1056);
  EXPECT_EQ(card.memory.l1_bytes, 512 * 1024);
  EXPECT_EQ(card.memory.l0a_bytes, 64 * 1024);
  EXPECT_EQ(card.memory.l0c_bytes, 256 * 1024);
  EXPECT_EQ(card.memory.strided_rows_max, 32);

  json server = json::parse(device_text("ascend950pr"));
  json pcie = json::parse(device_text("ascend950pr-28"));
  EXPECT_EQ(pcie["cores"], 28);
  EXPECT_EQ(server["costs"]["hbm_mb_s"], 1'600'000);
  EXPECT_EQ(pcie["costs"]["hbm_mb_s"], 1'400'000);
  for (json* file : {&server, &pcie}) {
    for (const char* key : {"name", "description", "cores"}) file->erase(key);
    for (const char* key : {"hbm_mb_s", "l2_bytes"}) {
      (*file)["costs"].erase(key);
      (*file)["sources"].erase(std::string("costs.") + key);
    }
    (*file)["sources"].erase("cores");
  }
  EXPECT_EQ(server, pcie);
}

TEST(DeviceJson, PrintedDevicesParseToTheSame) {
  for (const std::string& name : device_names()) {
    const DeviceFile file = parse_device_file(device_text(name), name);
    const std::string printed = print_device_file(file);
    EXPECT_EQ(json::parse(printed), json::parse(device_text(name))) << name;
    EXPECT_EQ(print_device_file(parse_device_file(printed, name)), printed);
  }
}

TEST(DeviceJson, EveryFieldSurvivesWithAnotherValue) {
  // Each leaf of the file gets a value of its own, so that a field read twice or lost is seen.
  json file = json::parse(chip_text());
  std::int64_t next = 3;
  for (auto* object : {&file, &file["rules"], &file["memory"], &file["costs"]}) {
    for (auto& [key, value] : object->items()) {
      if (value.is_boolean()) value = !value.get<bool>();
      if (value.is_number() && key != "flag_depth") value = next++;
    }
  }
  file["rules"]["round_id_max"] = 15;
  file["memory"]["ub_bytes"] = 1000;
  file["rounds"] = "balanced";
  file["name"] = "other";
  EXPECT_EQ(json::parse(print_device_file(parse_device_file(file.dump(), "x"))), file);
}

TEST(DeviceJson, ReportsEveryProblemAtOnce) {
  json file = json::parse(chip_text());
  file["colour"] = "blue";
  file["rules"]["speed"] = 3;
  file["rules"]["ranks_max"] = 65;
  file["rules"]["k_multiple"] = "32";
  file["rules"]["n_multiple"] = 16.5;
  file["rules"]["fragments_max"] = true;
  file["memory"]["l1_bytes"] = -1;
  file["memory"]["window_bytes"] = 18446744073709551615u;
  file["memory"].erase("ub_bytes");
  file["rounds"] = "sometimes";
  file["shared_workers"] = 1;
  file["description"] = "";
  file["sources"].erase("cores");
  file["sources"]["wings"] = "guess";
  file["sources"]["base_m"] = 7;
  const std::string text = refusal(file.dump());
  for (const char* part : {
           "device x.json: unknown key \"colour\"; remove it or use one of name, description,",
           "unknown key \"rules.speed\"",
           "rules.ranks_max is 65; use an integer from 1 to 64",
           "rules.k_multiple is \"32\"",
           "rules.n_multiple is 16.5",
           "rules.fragments_max is true",
           "memory.l1_bytes is -1",
           "memory.window_bytes is 18446744073709551615",
           "key \"memory.ub_bytes\" is missing",
           "rounds is \"sometimes\"; use one of balanced, heads_tail",
           "shared_workers is 1; use true or false",
           "description is \"\"",
           "sources does not say where cores comes from; add a source, or \"guess\"",
           "sources names \"wings\"",
           "sources.base_m is 7",
       }) {
    EXPECT_TRUE(has(text, part)) << part << "\nin\n" << text;
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 14) << text;
}

TEST(DeviceJson, EveryKeyIsRequired) {
  const json whole = json::parse(chip_text());
  int removed = 0;
  const auto expect_missing = [&](const json& file, const std::string& key) {
    EXPECT_TRUE(has(refusal(file.dump()), key)) << key;
    ++removed;
  };
  for (const auto& [key, value] : whole.items()) {
    json file = whole;
    file.erase(key);
    expect_missing(file, key);
    if (!value.is_object()) continue;
    for (const auto& [inner, unused] : value.items()) {
      file = whole;
      file[key].erase(inner);
      expect_missing(file, inner);
    }
  }
  // Keys of the file, rules, memory and costs, and sources of their numbers.
  EXPECT_EQ(removed, 13 + 11 + 7 + 40 + 19 + 40);
}

TEST(DeviceJson, RefusesFieldsThatContradict) {
  json file = json::parse(chip_text());
  file["base_m"] = 64;
  EXPECT_TRUE(has(refusal(file.dump()), "base_m is 64 and base_n is 0"));
  file = json::parse(chip_text());
  file["memory"]["l0c_bytes"] = 0;
  EXPECT_TRUE(has(refusal(file.dump()), "without a fixed base block"));
  file["base_m"] = 64;
  file["base_n"] = 64;
  EXPECT_EQ(refusal(file.dump()), "");
  file["memory"]["ub_guard_bytes"] = file["memory"]["ub_bytes"];
  EXPECT_TRUE(has(refusal(file.dump()), "leaves nothing"));
}

TEST(DeviceJson, EveryCostOfTheChipHasASourceOrIsAGuess) {
  for (const char* name : {"ascend950pr", "ascend950pr-28", "host"}) {
    const DeviceFile file = parse_device_file(device_text(name), name);
    int costs = 0;
    for (const auto& [path, source] : file.sources) {
      if (!path.starts_with("costs.")) continue;
      ++costs;
      const bool known = source.starts_with("guess") || source.starts_with("none") ||
                         has(source, "white paper") || has(source, "derived") ||
                         has(source, "measured") || has(source, "src/") || has(source, "unit");
      EXPECT_TRUE(known) << name << " " << path << ": " << source;
    }
    EXPECT_EQ(costs, 40) << name;
  }
  // 16 x 16 x 32 products a cycle at 1.65 GHz are the 27 TFLOPS of FP8 that a core is said to have.
  const DeviceCosts& costs = load_device("ascend950pr").costs;
  const double flops = 2.0 * static_cast<double>(costs.cube_m * costs.cube_n * costs.cube_k) *
                       static_cast<double>(costs.clock_mhz) * 1e6;
  EXPECT_NEAR(flops, 27e12, 0.1e12);
}

TEST(DeviceJson, RefusesWhatIsNoObject) {
  EXPECT_TRUE(has(refusal(""), "not valid JSON"));
  EXPECT_TRUE(has(refusal("{\"name\": \"a\""), "not valid JSON"));
  EXPECT_TRUE(has(refusal("{\"name\": \"\xff\"}"), "not valid JSON"));
  EXPECT_TRUE(has(refusal("[1, 2]"), "the file holds [1,2]"));
  EXPECT_TRUE(has(refusal("null"), "write one object"));
  const std::string deep =
      "{\"cores\": " + std::string(500000, '[') + std::string(500000, ']') + "}";
  EXPECT_TRUE(has(refusal(deep), "nested deeper than 16 levels"));
  json file = json::parse(chip_text());
  file["rules"] = 3;
  file["sources"] = json::array();
  const std::string text = refusal(file.dump());
  EXPECT_TRUE(has(text, "rules is 3; use an object")) << text;
  EXPECT_TRUE(has(text, "sources is []")) << text;
}

TEST(DeviceJson, RefusesAKeyGivenTwice) {
  std::string text = chip_text();
  text.insert(text.find("\"cores\""), "\"cores\": 5, ");
  EXPECT_TRUE(has(refusal(text), "key \"cores\" occurs twice"));
  // The same key in two objects is fine: "cores" stands in the file and in "sources".
  EXPECT_EQ(refusal(chip_text()), "");
}

class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : path_(::testing::TempDir() + "tandem_" + std::to_string(getpid()) + "_" + name) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string load_refusal(const std::string& name) {
  try {
    load_device(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    return error.what();
  }
  return "";
}

TEST(DeviceJson, LoadsAFileByPath) {
  json file = json::parse(chip_text());
  file["cores"] = 7;
  const TemporaryFile temporary("seven.json", file.dump());
  EXPECT_EQ(load_device(temporary.path()).cores, 7);
}

TEST(DeviceJson, RefusesUnknownNamesAndUnreadableFiles) {
  EXPECT_EQ(load_refusal("abacus"),
            "device abacus: no built-in device and no file; use one of ascend950pr, "
            "ascend950pr-28, host, or the path of a JSON file");
  EXPECT_TRUE(has(load_refusal(""), "no built-in device"));
  EXPECT_TRUE(has(load_refusal(::testing::TempDir()), "cannot be read"));
  const TemporaryFile large("large.json", std::string((1u << 20) + 1, ' '));
  EXPECT_TRUE(has(load_refusal(large.path()), "larger than 1 MiB"));
  const TemporaryFile bad("bad.json", "{}");
  EXPECT_TRUE(has(load_refusal(bad.path()), "key \"name\" is missing"));
}

}  // namespace
}  // namespace tandem
