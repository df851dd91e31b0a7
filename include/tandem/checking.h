// SPDX-License-Identifier: Apache-2.0
// Checks of an operator in the simulated machine: the kernels that run on the CPU run in virtual
// time, and every order in which they could go is judged. docs/checker.md explains the findings.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tandem/problem.h"
#include "tandem/types.h"

namespace tandem {

enum class CheckStrategy : std::uint8_t {
  canonical,   // one run; it speaks for all schedules where it is confluent
  random,      // and others, drawn
  pct,         // and others by random priorities, lowered at up to two places
  starve,      // and others, each of which holds one pipe, core, rank or kind of transfer back
  exhaustive,  // and all orders of what one run leaves open, if it leaves anything open
};

template <>
inline constexpr std::array<EnumName<CheckStrategy>, 5> kEnumNames<CheckStrategy>{
    {{CheckStrategy::canonical, "canonical"},
     {CheckStrategy::random, "random"},
     {CheckStrategy::pct, "pct"},
     {CheckStrategy::starve, "starve"},
     {CheckStrategy::exhaustive, "exhaustive"}}};

enum class CheckData : std::uint8_t {
  values,     // bytes move, and C is compared with the reference after each launch
  footprint,  // addresses only: large shapes and many ranks
};
enum class CheckShrink : std::uint8_t { on, off };  // look for a smaller case that still fails

// What a check demands beyond the device.
struct CheckProfile {
  int queue_depth = 32;            // operations that a pipe holds
  bool overlapped_vector = false;  // vector operations of a core may overlap
  bool weak_drain = false;         // a drain says only that the source may be reused
};

struct CheckOptions {
  Problem problem;  // plans that are wrong by design are allowed here
  std::string device = "host";
  int launches = 2;  // one after the other, without a barrier between
  CheckStrategy strategy = CheckStrategy::canonical;
  int schedules = 100;  // at most, beside the canonical one
  std::uint64_t seed = 1;
  CheckData data = CheckData::values;
  CheckProfile profile;
  CheckShrink shrink = CheckShrink::on;
  std::string variant;  // by name, see list_variants(): a form of the plan, or upstream's error
  std::string mutant;   // by name, see list_mutants(): a planted error; implies footprint
  std::string replay;   // token of a schedule that a report printed; in place of a strategy
};

enum class CheckVerdict : std::uint8_t {
  sound,     // no finding, in any schedule of this input
  explored,  // NONCONFLUENT alone: the schedules that were run do not speak for all
  findings,
  deadlock,  // findings, and the program got stuck
};

template <>
inline constexpr std::array<EnumName<CheckVerdict>, 4> kEnumNames<CheckVerdict>{
    {{CheckVerdict::sound, "sound"},
     {CheckVerdict::explored, "explored"},
     {CheckVerdict::findings, "findings"},
     {CheckVerdict::deadlock, "deadlock"}}};

struct CheckSide {
  int rank = -1;
  std::string core;
  std::string pipe;
  std::string verb;
  std::string file;
  int line = 0;
  int launch = 0;
};

struct CheckFinding {
  std::string code;    // stable, see list_findings()
  std::string object;  // buffer and range, flag, event, barrier word
  std::vector<CheckSide> sides;
  std::string detail;
  int count = 1;     // symmetric places that show the same
  std::string text;  // all of it for a person
};

struct CheckReport {
  CheckVerdict verdict = CheckVerdict::sound;
  std::vector<CheckFinding> findings;
  bool confluent = true;
  std::vector<std::string> doubts;  // why one run does not speak for all schedules
  int schedules = 0;                // that were run
  int launches = 0;
  int rounds = 0;
  int blocks = 0;
  std::uint64_t steps = 0;  // of all runs
  std::uint64_t ops = 0;
  double seconds = 0;  // of the runs; the only number that differs from run to run
  std::uint64_t shadow_segments = 0;
  std::string token;      // the schedule that showed the findings
  std::string reproduce;  // the command that shows them again
  std::string smallest;   // the command of the smallest case found that still shows the first one
  std::vector<std::string> notes;  // why the plan is wrong by design, if it is
  std::vector<std::string> lints;  // "PERF-ROWWISE: …": legal, and slow, inexact or suspicious
};

// What a long check is doing, for people.
using CheckProgress = std::function<void(const std::string& line)>;

// Throws Error{refused} with every reason if the problem has no plan or a name is unknown.
CheckReport run_check(const CheckOptions& options, const CheckProgress& progress = {});

// Throws Error{refused} with everything in the options that no problem can have: counts out of
// range, names and tokens that are none. run_check() does this too.
void validate(const CheckOptions& options);

// The mutant that the options plant, also where its name stands among the variants; empty: none.
std::string planted_error(const CheckOptions& options);
// The case in which the planted error is known to show, with the names as they are in `options`.
// Throws Error{refused} for a name that is none.
CheckOptions own_case(const CheckOptions& options);
CheckOptions mutant_options(const std::string& name);

// 0 without findings, otherwise 4.
int exit_code(const CheckReport& report);
// For a person, the verdict last; the same bytes for the same options.
std::string check_text(const CheckReport& report);
// {"verdict", "confluent", "schedules", "launches", "findings": [{"code", …}], …}.
std::string check_json(const CheckOptions& options, const CheckReport& report);
// "tandem check all-gather-matmul -R 4 -m …": every option that is not the default.
std::string check_command(const CheckOptions& options);

// Configurations that stand for the operators and their variants, each with its verdict, as a
// Markdown table.
std::string check_table(const CheckProgress& progress = {});

// One line each: name, two or more blanks, what it is.
std::string list_findings();
std::string list_variants();
std::string list_mutants();

}  // namespace tandem
