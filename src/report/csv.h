// SPDX-License-Identifier: Apache-2.0
// Case lists: comma-separated text with a header row.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct CsvRow {
  int line = 0;                     // in the file, from 1
  std::vector<std::string> fields;  // as many as there are columns
};

struct CsvTable {
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;

  // The position of a column; names are case-sensitive.
  std::optional<std::size_t> find_column(std::string_view name) const;
};

// Lines that are blank or start with '#' are skipped; LF or CRLF; blanks around a field go away; a
// field in double quotes keeps them, its commas and "" as one quote. Throws Error{refused} with
// every faulty line. Which columns must or may exist is the caller's matter.
CsvTable parse_csv(std::string_view text, const std::string& subject);

// The same from a file of at most 16 MiB.
CsvTable read_csv(const std::string& path);

}  // namespace tandem
