// SPDX-License-Identifier: Apache-2.0
// Reading JSON files that people write: all problems of a file are collected and reported at once.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/types.h"

namespace tandem {

// Problems of one file, a line each: "subject: observation; remedy".
class JsonProblems {
 public:
  explicit JsonProblems(std::string_view subject) : subject_(subject) {}

  void add(std::string_view observation, std::string_view remedy);
  bool empty() const { return lines_.empty(); }
  // Throws Error{refused} with all of them, if there are any.
  void throw_if_any() const;

 private:
  std::string subject_;
  std::vector<std::string> lines_;
};

// The object that `text` holds. A syntax error, or something else than an object, is thrown as
// Error{refused} at once; keys that occur twice are added to `problems`.
nlohmann::json parse_object(std::string_view text, JsonProblems& problems);

// At most 1 MiB of a file; throws Error{refused} if it cannot be read or is larger.
std::string read_small_file(const std::string& path);

// "a, b, c"
std::string joined_words(const std::vector<std::string_view>& words);

// The value as a short text for messages.
std::string shown(const nlohmann::json& value);

// Each returns nothing and adds a problem if the value has another type, range or spelling.
std::optional<std::int64_t> read_integer(const nlohmann::json& value, std::string_view path,
                                         std::int64_t low, std::int64_t high,
                                         JsonProblems& problems);
std::optional<bool> read_bool(const nlohmann::json& value, std::string_view path,
                              JsonProblems& problems);
std::optional<std::string> read_string(const nlohmann::json& value, std::string_view path,
                                       JsonProblems& problems);

template <typename E>
std::optional<E> read_word(const nlohmann::json& value, std::string_view path,
                           JsonProblems& problems) {
  if (value.is_string()) {
    if (auto parsed = try_parse<E>(value.get_ref<const std::string&>())) return parsed;
  }
  std::vector<std::string_view> words;
  words.reserve(kEnumNames<E>.size());
  for (const auto& [enumerator, name] : kEnumNames<E>) words.push_back(name);
  problems.add(std::string(path) + " is " + shown(value), "use one of " + joined_words(words));
  return std::nullopt;
}

}  // namespace tandem
