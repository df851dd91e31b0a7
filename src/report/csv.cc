// SPDX-License-Identifier: Apache-2.0
#include "report/csv.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::uintmax_t kFileBytesMax = 16U << 20;
constexpr std::size_t kReasonsMax = 20;

// Faults by line; the message lists them all, up to a page.
class Reasons {
 public:
  explicit Reasons(const std::string& subject) : subject_(subject) {}

  void add(int line, const std::string& observation) {
    ++count_;
    if (count_ > kReasonsMax) return;
    if (!text_.empty()) text_ += '\n';
    text_ += subject_ + ":" + std::to_string(line) + ": " + observation;
  }

  void throw_if_any() const {
    if (count_ == 0) return;
    std::string more;
    if (count_ > kReasonsMax) more = "\nand " + std::to_string(count_ - kReasonsMax) + " more";
    throw Error(ErrorKind::refused, text_ + more);
  }

 private:
  const std::string& subject_;
  std::string text_;
  std::size_t count_ = 0;
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Takes a quoted field off the front of `rest`, up to its comma or the end of the line.
std::optional<std::string> take_quoted(std::string_view& rest) {
  std::string field;
  std::size_t i = 1;
  for (;; ++i) {
    if (i >= rest.size()) return std::nullopt;
    if (rest[i] != '"') {
      field += rest[i];
    } else if (i + 1 < rest.size() && rest[i + 1] == '"') {
      field += '"';
      ++i;
    } else {
      break;
    }
  }
  rest = trim(rest.substr(i + 1));
  if (!rest.empty() && rest.front() != ',') return std::nullopt;
  return field;
}

// The fields of a line, or nothing if its quotes don't match.
std::optional<std::vector<std::string>> try_split(std::string_view rest) {
  std::vector<std::string> fields;
  for (;;) {
    rest = trim(rest);
    if (rest.starts_with('"')) {
      auto field = take_quoted(rest);
      if (!field) return std::nullopt;
      fields.push_back(*std::move(field));
    } else {
      std::size_t end = std::min(rest.find(','), rest.size());
      fields.emplace_back(trim(rest.substr(0, end)));
      rest.remove_prefix(end);
    }
    if (rest.empty()) return fields;
    rest.remove_prefix(1);
  }
}

void check_columns(const std::vector<std::string>& columns, int line, Reasons& reasons) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].empty()) {
      reasons.add(line, "column " + std::to_string(i + 1) + " has no name; name it or remove it");
    } else if (std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(i),
                         columns[i]) != columns.begin() + static_cast<std::ptrdiff_t>(i)) {
      reasons.add(line, "column " + columns[i] + " stands twice; remove one");
    }
  }
}

}  // namespace

std::optional<std::size_t> CsvTable::find_column(std::string_view name) const {
  auto it = std::find(columns.begin(), columns.end(), name);
  if (it == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(it - columns.begin());
}

CsvTable parse_csv(std::string_view text, const std::string& subject) {
  CsvTable table;
  Reasons reasons(subject);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (int line = 1; !text.empty(); ++line) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.ends_with('\r')) content.remove_suffix(1);
    content = trim(content);
    if (content.empty() || content.starts_with('#')) continue;
    if (content.find('\0') != std::string_view::npos) {
      reasons.add(line, "holds a zero byte; give a text file");
      break;
    }
    auto fields = try_split(content);
    if (!fields) {
      reasons.add(line, "a quoted field has no end or text behind it; close its quotes");
    } else if (table.columns.empty()) {
      check_columns(*fields, line, reasons);
      table.columns = *std::move(fields);
    } else if (fields->size() != table.columns.size()) {
      reasons.add(line, std::to_string(fields->size()) + " fields, the header has " +
                            std::to_string(table.columns.size()) + "; give one per column");
    } else {
      table.rows.push_back({line, *std::move(fields)});
    }
  }
  reasons.throw_if_any();
  if (table.columns.empty()) {
    throw Error(ErrorKind::refused,
                subject + ": no header row; name the columns in the first line");
  }
  return table;
}

CsvTable read_csv(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error(ErrorKind::refused, path + ": no such file; give a case list");
  }
  std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!error && bytes > kFileBytesMax) {
    throw Error(ErrorKind::refused, path + ": " + std::to_string(bytes) +
                                        " bytes exceed the 16 MiB of a case list; split it");
  }
  std::ifstream stream(path, std::ios::binary);
  if (error || !stream) {
    throw Error(ErrorKind::refused, path + ": cannot be opened for reading; check its permissions");
  }
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  return parse_csv(text, path);
}

}  // namespace tandem
