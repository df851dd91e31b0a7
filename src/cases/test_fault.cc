// SPDX-License-Identifier: Apache-2.0
#include "cases/test_fault.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <thread>

#include "base/strings.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr const char* kVariable = "TANDEM_TEST_FAULT";

// What each fault needs beside its rank.
const std::map<std::string, std::vector<std::string>>& known_faults() {
  static const std::map<std::string, std::vector<std::string>> known{
      {"absent", {}},       {"late", {"ms"}},     {"field", {"name", "value"}},
      {"stop", {"launch"}}, {"kill", {"launch"}}, {"corrupt", {"index"}},
      {"memory", {"mib"}},
  };
  return known;
}

struct TestFault {
  std::string kind;
  std::map<std::string, std::string> values;

  std::int64_t number(const std::string& name) const {
    std::int64_t value = -1;
    const auto found = values.find(name);
    if (found == values.end()) return value;
    const std::string& text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : -1;
  }
};

// kind:name=value,name=value
TestFault parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  TestFault fault{.kind = std::string(text.substr(0, colon)), .values = {}};
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equal = item.find('=');
    if (equal != std::string_view::npos) {
      fault.values.emplace(item.substr(0, equal), item.substr(equal + 1));
    }
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  return fault;
}

// The fault of this kind that is planted on this rank.
std::optional<TestFault> planted(const char* kind, int rank) {
  const char* text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  TestFault fault = parse(text);
  if (fault.kind != kind || fault.number("rank") != rank) return std::nullopt;
  return fault;
}

}  // namespace

void check_test_fault(std::string_view transport, int ranks, const Fields& fields) {
  const char* text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0') return;
  const TestFault fault = parse(text);
  const auto found = known_faults().find(fault.kind);
  bool complete = found != known_faults().end() && fault.number("rank") >= 0;
  if (complete) {
    for (const std::string& name : found->second) complete &= fault.values.contains(name);
  }
  const bool needs_process = fault.kind == "absent" || fault.kind == "stop" ||
                             fault.kind == "kill" || fault.kind == "memory";
  if (complete && needs_process && transport == "threads") {
    throw Error(ErrorKind::refused, cat(kVariable, ": ", fault.kind,
                                        " needs a process per rank; "
                                        "use --transport shm"));
  }
  if (!complete) {
    throw Error(ErrorKind::refused, cat(kVariable, ": '", text,
                                        "' is no fault that can be planted; "
                                        "use kind:rank=1,… as in src/cases/test_fault.h"));
  }
  if (fault.number("rank") >= ranks) {
    throw Error(ErrorKind::refused, cat(kVariable, ": rank ", fault.number("rank"), " is none of ",
                                        ranks, "; use 0 to ", ranks - 1));
  }
  if (fault.kind != "field" || fields.empty() || fault.values.at("name") == "version") return;
  const auto is_named = [&](const auto& field) { return field.first == fault.values.at("name"); };
  if (std::ranges::none_of(fields, is_named)) {
    throw Error(ErrorKind::refused, cat(kVariable, ": no field is named '", fault.values.at("name"),
                                        "'; use one that ranks compare"));
  }
}

void fault_before_join(int rank) {
  if (const auto fault = planted("late", rank)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(fault->number("ms")));
  }
  while (planted("absent", rank)) pause();
}

void fault_in_fields(int rank, Fields& fields) {
  const auto fault = planted("field", rank);
  if (!fault) return;
  for (auto& [name, value] : fields) {
    if (name == fault->values.at("name")) value = fault->values.at("value");
  }
}

void fault_before_windows(int rank) {
  const auto fault = planted("memory", rank);
  if (!fault) return;
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(getpagesize()) +
                       (static_cast<rlim_t>(fault->number("mib")) << 20);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

void fault_before_launch(int rank, int launch) {
  for (const auto& [kind, number] : {std::pair{"stop", SIGSTOP}, {"kill", SIGKILL}}) {
    const auto fault = planted(kind, rank);
    if (fault && fault->number("launch") == launch) kill(getpid(), number);
  }
}

void fault_in_result(int rank, OutputType type, std::span<std::uint8_t> c) {
  const auto fault = planted("corrupt", rank);
  if (!fault) return;
  const std::int64_t at = fault->number("index") * element_bytes(type);
  if (at < 0 || at >= static_cast<std::int64_t>(c.size())) {
    throw Error(ErrorKind::refused, cat(kVariable, ": index ", fault->values.at("index"),
                                        " is not in C of rank ", rank, "; use one that is"));
  }
  c[at] ^= 1;
}

}  // namespace tandem
