// SPDX-License-Identifier: Apache-2.0
// How one rank and the launcher of a case talk to each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cases/verify.h"
#include "tandem/case.h"
#include "tandem/world.h"

namespace tandem {

inline bool has_run(const CaseResult& result) {
  return result.verdict == Verdict::pass || result.verdict == Verdict::fail;
}

// What one rank says at the end of a case.
struct RankReport {
  int case_index = 0;
  Verdict verdict = Verdict::pass;  // pass: it ran; refused or failed: it says why
  int exit_code = 0;
  std::string message;
  int rounds = 0;
  std::int64_t window_bytes = 0;
  std::int64_t weights_bytes = 0;
  double seconds = 0;  // median of the launches
  Verification found;
};

std::string to_json(const RankReport& report);
RankReport parse_rank_report(const std::string& json);

// The lines that a progress function receives are either reports or for people.
bool is_rank_report(const std::string& line);

// Joins what the ranks said; verdict, messages and exit code follow.
void merge_reports(std::span<const RankReport> reports, CaseResult& result);

// Writes why a world failed into the result: primary causes first, the others folded.
void note_world_failure(std::span<const RankOutcome> outcomes, CaseResult& result);

// "all-gather-matmul: 1 of 4096 elements differ; first on rank 1 …"
std::string describe_difference(const CaseResult& result);

}  // namespace tandem
