// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace tandem {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
};

// The code point at the front of `text`; a byte that starts none stands for itself.
CodePoint decode(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  std::uint8_t first = byte(0);
  std::size_t bytes = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 1;
  if (bytes == 1 || bytes > text.size()) return {first < 0x80 ? first : 0xFFFDU, 1};
  std::uint32_t value = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0xFFFDU, 1};
    value = value << 6 | (byte(i) & 0x3FU);
  }
  return {value, bytes};
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Unicode 15, the blocks that a report may contain: combining marks and joiners, then wide ones.
constexpr std::array<Range, 6> kZeroWidth{{{0x0300, 0x036F},
                                           {0x1AB0, 0x1AFF},
                                           {0x1DC0, 0x1DFF},
                                           {0x200B, 0x200F},
                                           {0x20D0, 0x20FF},
                                           {0xFE00, 0xFE0F}}};
constexpr std::array<Range, 8> kDoubleWidth{{{0x1100, 0x115F},
                                             {0x2E80, 0x303E},
                                             {0x3041, 0xA4CF},
                                             {0xAC00, 0xD7A3},
                                             {0xF900, 0xFAFF},
                                             {0xFF00, 0xFF60},
                                             {0x1F300, 0x1FAFF},
                                             {0x20000, 0x3FFFD}}};

template <std::size_t kCount>
bool contains(const std::array<Range, kCount>& ranges, std::uint32_t value) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return range.first <= value && value <= range.last;
  });
}

bool is_absent(std::string_view cell) { return cell.empty() || cell == "-" || cell == "–"; }

bool is_number(std::string_view cell) {
  if (cell.ends_with('%')) cell.remove_suffix(cell.ends_with(" %") ? 2 : 1);
  if (cell.starts_with('+')) cell.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error != std::errc::invalid_argument && end == cell.data() + cell.size();
}

std::string clean(std::string cell) {
  for (char& c : cell) {
    if (static_cast<std::uint8_t>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return cell;
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    CodePoint point = decode(text);
    text.remove_prefix(point.bytes);
    if (contains(kZeroWidth, point.value)) continue;
    width += contains(kDoubleWidth, point.value) ? 2 : 1;
  }
  return width;
}

TextTable::TextTable(std::vector<std::string> columns) { lines_.push_back(std::move(columns)); }

void TextTable::add_row(std::vector<std::string> cells) {
  TANDEM_CHECK(cells.size() == lines_.front().size(), std::to_string(cells.size()) + " cells for " +
                                                          std::to_string(lines_.front().size()) +
                                                          " columns");
  for (std::string& cell : cells) cell = clean(std::move(cell));
  lines_.push_back(std::move(cells));
}

std::string TextTable::to_string() const {
  std::size_t columns = lines_.front().size();
  std::vector<int> widths(columns, 0);
  std::vector<bool> right(columns, true);
  for (std::size_t i = 0; i < columns; ++i) {
    bool any = false;
    for (const auto& line : lines_) widths[i] = std::max(widths[i], display_width(line[i]));
    for (auto line = lines_.begin() + 1; line != lines_.end(); ++line) {
      const std::string& cell = (*line)[i];
      if (is_absent(cell)) continue;
      any = true;
      if (!is_number(cell)) right[i] = false;
    }
    if (!any) right[i] = false;
  }
  std::string text;
  for (const auto& line : lines_) {
    std::string row;
    for (std::size_t i = 0; i < columns; ++i) {
      std::string blanks(static_cast<std::size_t>(widths[i] - display_width(line[i])), ' ');
      if (i > 0) row += "  ";
      row += right[i] ? blanks + line[i] : line[i] + blanks;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  return text;
}

}  // namespace tandem
