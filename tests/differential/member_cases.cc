// SPDX-License-Identifier: Apache-2.0
// The everyday cases as one rank of a world over several hosts: those of as many ranks as were
// started, over one transport. TANDEM_RANK, TANDEM_SIZE and TANDEM_ROOT say which rank this is.
//   member_cases TRANSPORT
// Exit code 0 if every rank compared every element of its C with the reference, and none differs.
#include <cstdio>

#include "harness.h"
#include "selection.h"
#include "tandem/error.h"
#include "tandem/types.h"

int main(int argc, char** argv) {
  using namespace tandem;
  using namespace tandem::differential;
  try {
    Options options{.membership = membership_from_env()};
    if (argc != 2 || !options.membership) {
      std::fprintf(stderr, "member_cases: give a transport, and TANDEM_RANK and so on\n");
      return 2;
    }
    std::vector<Case> cases;
    for (const auto& [op, name] : kEnumNames<OperatorKind>) {
      for (Case& one : everyday_cases_over(argv[1], op)) {
        if (one.problem.ranks != options.membership->size) continue;
        cases.push_back(std::move(one));
      }
    }
    const Summary summary = run_cases(cases, options);
    std::printf("%s: %zu cases, %lld elements, %s\n", argv[1], cases.size(),
                static_cast<long long>(summary.elements), summary.text().c_str());
    const bool whole = summary.cases == static_cast<std::int64_t>(cases.size());
    return whole && !cases.empty() && summary.failures.empty() ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "member_cases: %s\n", error.what());
    return exit_code(error.kind());
  }
}
