// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/case.h"
#include "tandem/types.h"

namespace tandem {

// Reads a case list: CSV with a header. Columns `m`, `k`, `n` are required; `ranks`, `operator`,
// `head_m` (rows of one round) and `buffer_count` (ring slots) are optional, others are refused.
// In a list with an `operator` column, m of all-to-all-matmul counts the rows of all ranks.
struct CaseListOptions {
  std::string path;
  // Only rows of this operator; empty: all rows. A list without an `operator` column needs it.
  std::optional<OperatorKind> op;
  std::int64_t scale_down = 1;  // see scale_extent
  CaseOptions base;             // everything that the list does not say
};

// max(1, extent / divisor), plus 1 if the extent is no multiple of 32 and the quotient is one: an
// odd size stays odd.
std::int64_t scale_extent(std::int64_t extent, std::int64_t divisor);

// The cases in order of rows. A row that names an operator which is not built becomes a case with
// its reasons. Throws Error{refused} with everything that is wrong with the list itself.
std::vector<CaseOptions> read_case_list(const CaseListOptions& options);

}  // namespace tandem
