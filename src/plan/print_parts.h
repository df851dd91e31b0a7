// SPDX-License-Identifier: Apache-2.0
// The sections of a printed plan, and facts that text and JSON share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace tandem {

// Columns aligned with blanks: the first to the left, others to the right if they hold numbers.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Indented by two blanks, one line a row.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "0 to 3", "2", "none".
std::string range_text(std::int64_t first, std::int64_t count);

// A flag as the plan uses it within each block.
struct FlagUse {
  std::string_view name;      // ready, own, release
  std::string_view producer;  // cube, vector
  std::string_view meaning;
  FlagIds ids;
  std::int64_t sets = 0;  // in one launch, by each block
};
std::vector<FlagUse> flag_uses(const Plan& plan);

// Bytes that one rank needs, and what the device offers; limit 0: none.
struct Budget {
  std::string_view name;
  std::int64_t bytes = 0;
  std::int64_t limit = 0;
};
std::vector<Budget> budgets(const Plan& plan);

// Places of a window region, and who has one.
struct WindowRegion {
  Buffer buffer = Buffer::window_data;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  int slots = 0;  // of a ring; 0: no ring
  int parts = 0;  // places, or places in each slot
  std::int64_t part_bytes = 0;
};
std::vector<WindowRegion> window_regions(const Plan& plan);

std::string print_distribution(const Plan& plan);
std::string print_rounds(const Plan& plan);
std::string print_blocks(const Plan& plan);
std::string print_tiles(const Plan& plan);
std::string print_window(const Plan& plan);
std::string print_flags(const Plan& plan);
std::string print_reduction(const Plan& plan);
std::string print_budgets(const Plan& plan);

}  // namespace tandem
