// SPDX-License-Identifier: Apache-2.0
#include "report/json_input.h"

#include <fstream>
#include <limits>
#include <set>

#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;
// Printing a value recurses once per level, so a hostile file could use up the stack.
constexpr int kDepthMax = 16;

// Watches the parser: keys given twice, and nesting. Holds the key sets of the objects that are
// open, innermost last.
class ParseWatch {
 public:
  explicit ParseWatch(JsonProblems& problems) : problems_(problems) {}

  bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (depth > kDepthMax) {
      problems_.add("nested deeper than " + std::to_string(kDepthMax) + " levels", "flatten it");
      problems_.throw_if_any();
    }
    if (event == Event::object_start) {
      open_.emplace_back();
    } else if (event == Event::object_end) {
      open_.pop_back();
    } else if (event == Event::key) {
      const std::string& key = parsed.get_ref<const std::string&>();
      if (!open_.back().insert(key).second) {
        problems_.add("key " + shown(parsed) + " occurs twice in one object", "keep one of them");
      }
    }
    return true;
  }

 private:
  JsonProblems& problems_;
  std::vector<std::set<std::string>> open_;
};

}  // namespace

void JsonProblems::add(std::string_view observation, std::string_view remedy) {
  lines_.push_back(subject_ + ": " + std::string(observation) + "; " + std::string(remedy));
}

void JsonProblems::throw_if_any() const {
  if (lines_.empty()) return;
  std::string text;
  for (const std::string& line : lines_) {
    if (!text.empty()) text += '\n';
    text += line;
  }
  throw Error(ErrorKind::refused, text);
}

nlohmann::json parse_object(std::string_view text, JsonProblems& problems) {
  nlohmann::json json;
  try {
    ParseWatch watch(problems);
    json = nlohmann::json::parse(
        text, [&watch](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
          return watch(depth, event, parsed);
        });
  } catch (const nlohmann::json::exception& error) {
    problems.add(std::string("not valid JSON: ") + error.what(), "correct the syntax");
    problems.throw_if_any();
  }
  if (!json.is_object()) {
    problems.add("the file holds " + shown(json), "write one object in braces");
    problems.throw_if_any();
  }
  return json;
}

std::string read_small_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytesMax + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    throw Error(ErrorKind::refused, path + ": cannot be read; check the path and its permissions");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) {
    throw Error(ErrorKind::refused, path + ": larger than 1 MiB; use a file written for this");
  }
  return text;
}

std::string joined_words(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

std::string shown(const nlohmann::json& value) {
  constexpr std::size_t kShownMax = 60;
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kShownMax) text = text.substr(0, kShownMax) + "...";
  return text;
}

std::optional<std::int64_t> read_integer(const nlohmann::json& value, std::string_view path,
                                         std::int64_t low, std::int64_t high,
                                         JsonProblems& problems) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <=
                         static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  if (fits) {
    const auto number = value.get<std::int64_t>();
    if (number >= low && number <= high) return number;
  }
  problems.add(std::string(path) + " is " + shown(value),
               "use an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return std::nullopt;
}

std::optional<bool> read_bool(const nlohmann::json& value, std::string_view path,
                              JsonProblems& problems) {
  if (value.is_boolean()) return value.get<bool>();
  problems.add(std::string(path) + " is " + shown(value), "use true or false");
  return std::nullopt;
}

std::optional<std::string> read_string(const nlohmann::json& value, std::string_view path,
                                       JsonProblems& problems) {
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) {
    return value.get<std::string>();
  }
  problems.add(std::string(path) + " is " + shown(value), "use a text that is not empty");
  return std::nullopt;
}

}  // namespace tandem
