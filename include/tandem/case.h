// SPDX-License-Identifier: Apache-2.0
// One run of an operator that is checked, element by element, against the reference.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tandem/inputs.h"
#include "tandem/problem.h"
#include "tandem/types.h"
#include "tandem/world.h"

namespace tandem {

enum class Verdict : std::uint8_t {
  pass,     // every element has the reference's bits and lies within the bound
  fail,     // one does not
  refused,  // it cannot be asked
  failed,   // the world failed: time-out, lost rank, lack of memory, a bug
};

template <>
inline constexpr std::array<EnumName<Verdict>, 4> kEnumNames<Verdict>{
    {{Verdict::pass, "pass"},
     {Verdict::fail, "fail"},
     {Verdict::refused, "refused"},
     {Verdict::failed, "failed"}}};

enum class UnsoundPlans : std::uint8_t { refused, allowed };

struct CaseOptions {
  Problem problem;
  InputOptions inputs;
  OperandFiles files;
  int repeat = 1;                                // launches; each one is checked
  UnsoundPlans unsound = UnsoundPlans::refused;  // variants that are wrong by design
  std::int64_t exact_work_max = std::int64_t{1}
                                << 33;  // products in FP64; beyond, rows are sampled
  std::vector<std::string> reasons;     // found before; the planner adds its own
  std::string operator_name;            // one that is not built: refused for `reasons` alone
};

// The first element, in order of ranks and places, that is not the reference's.
struct Difference {
  int rank = 0;
  std::int64_t index = 0;  // row · n + column
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::uint32_t got = 0;  // bits of dtype_c
  std::uint32_t want = 0;
  int source_rank = -1;  // whose part it is; −1: a sum over all ranks
  int round = -1;        // of communication; −1: rows that need none
  int launch = 0;
};

struct CaseResult {
  Problem problem;
  std::string operator_name;
  std::uint64_t seed = 0;  // of the operands
  Verdict verdict = Verdict::failed;
  int exit_code = 0;  // of the command line for this case alone
  int rounds = 0;
  int blocks = 0;
  int slots = 0;
  SumOrder order = SumOrder::panel;
  std::int64_t window_bytes = 0;   // largest rank
  std::int64_t weights_bytes = 0;  // largest rank
  std::int64_t elements = 0;       // of C, all ranks
  std::int64_t differing = 0;
  std::optional<Difference> first;
  double ulp_max = 0;                 // |out − exact| in units of the last place of dtype_c
  double bound_ratio = 0;             // largest |out − exact| / bound, docs/numerics.md section 9
  std::int64_t rows = 0;              // of C, all ranks
  std::int64_t exact_rows = 0;        // rows compared with the FP64 product; fewer: sampled
  double seconds_fused = 0;           // median of the launches, largest rank
  std::vector<std::string> notes;     // what the plan chose or clamped, and why
  std::vector<std::string> messages;  // why it did not pass, the primary cause first
  std::string reproduce;              // the command that runs it again
};

// What a long run is doing, for people.
using CaseProgress = std::function<void(const std::string& line)>;

// Plans, then spawns the world of `problem.ranks` ranks, runs and verifies. Nothing is forked for a
// case that is refused. Does not throw for what happens to the case: the verdict says it.
CaseResult run_case(const WorldOptions& world, const CaseOptions& options,
                    const CaseProgress& progress = {});

// The same for many cases, in order. Neighbours with equal counts of ranks share a world; after a
// failure the next one gets a new world, unless the user interrupted.
std::vector<CaseResult> run_cases(const WorldOptions& world, const std::vector<CaseOptions>& cases,
                                  const CaseProgress& progress = {});

// "tandem run all-gather-matmul -R 4 -m 256 …": every option that is not the default.
std::string command_line(const WorldOptions& world, const CaseOptions& options);

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

// One row per case: operator, R, m, n, k, types, rounds, differing, max ULP, bound, ms, verdict.
std::string results_table(const std::vector<CaseResult>& results);

// "PASS 4/4", "FAIL 3/4", or "REFUSED 2/2" if nothing ran. Refused cases count as neither.
std::string verdict_line(const std::vector<CaseResult>& results);

// 0 if none failed and at least one ran; otherwise the gravest of the cases' exit codes.
int exit_code_of(const std::vector<CaseResult>& results);

// Every number, the machine, the build and the choices of the plan:
// {"verdict", "passed", "failed", "refused", "machine", "build", "cases": [{"operator", …}]}, and
// "messages" where nothing could be made of the request.
std::string results_json(const WorldOptions& world, const std::vector<CaseResult>& results,
                         const std::vector<std::string>& messages = {});

// Writes a text file. Throws Error{refused} if it can't be created, Error{environment} if it can't
// be filled.
void write_text_file(const std::string& path, const std::string& text);

}  // namespace tandem
