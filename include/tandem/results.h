// SPDX-License-Identifier: Apache-2.0
// Results of cases for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "tandem/case.h"
#include "tandem/world.h"

namespace tandem {

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
