// SPDX-License-Identifier: Apache-2.0
// Aligned text: one header line, one line per row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem {

// Columns of a terminal that UTF-8 text takes: 0 for combining marks, 2 for East Asian wide
// characters and emoji, 1 for each byte that is no UTF-8.
int display_width(std::string_view text);

// A column whose cells are all numbers ("12", "-0.5", "3.1e9", "98 %", "nan"; "-", "–" and "" count
// as absent numbers) is aligned right with its header, any other left.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> columns);

  // Takes as many cells as there are columns. Control characters in a cell become blanks.
  void add_row(std::vector<std::string> cells);

  // Lines that end in '\n', columns two blanks apart, no blanks at line ends.
  std::string to_string() const;

 private:
  std::vector<std::vector<std::string>> lines_;  // the header first
};

}  // namespace tandem
