// SPDX-License-Identifier: Apache-2.0
// The table of docs/checker-table.md: operators and variants over ranks and rounds.
#include "checking/check_table.h"

#include <set>
#include <vector>

#include "base/strings.h"
#include "checking/variants.h"
#include "tandem/checking.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr int kRanks[] = {2, 3, 4};
constexpr std::int64_t kTiles[] = {1, 5, 17};

struct Form {
  OperatorKind op;
  std::string_view variant;  // empty: the default
  std::string device;
};

// Uneven on the host; on an accelerator as its rules ask, with a tail where the rounds don't
// divide.
Problem shape_of(const Form& form, int ranks, std::int64_t tiles) {
  Problem problem;
  problem.op = form.op;
  problem.ranks = ranks;
  const bool splits_m = form.op == OperatorKind::matmul_reduce_scatter;
  const bool splits_k = form.op == OperatorKind::all_to_all_matmul;
  const bool splits_n = form.op == OperatorKind::matmul_all_gather;
  if (form.device == "host") {
    problem.m = splits_m ? 18 * ranks + 1 : 19;
    problem.n = splits_n ? 5 * ranks + 1 : 9;
    problem.k = splits_k ? 64 * ranks + 8 : 72;
    problem.tiles = tiles;
    problem.blocks = ranks + 1;
  } else {
    problem.m = splits_m ? 80 * ranks : 80;
    problem.n = splits_n ? 16 * ranks : 16;
    problem.k = splits_k ? 128 * ranks : 128;
    if (tiles > 1) problem.tile_rows = tiles == 5 ? 32 : 16;
    problem.blocks = ranks + 2;
  }
  return problem;
}

struct Counts {
  int sound = 0;
  int refused = 0;
  int with_findings = 0;
  std::set<std::string> codes;
};

Counts check_all(const Form& form) {
  Counts counts;
  for (const int ranks : kRanks) {
    for (const std::int64_t tiles : kTiles) {
      CheckOptions options;
      options.problem = shape_of(form, ranks, tiles);
      options.device = form.device;
      options.variant = form.variant;
      options.shrink = CheckShrink::off;
      try {
        const CheckReport report = run_check(options);
        ++(report.findings.empty() ? counts.sound : counts.with_findings);
        for (const CheckFinding& finding : report.findings) counts.codes.insert(finding.code);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::refused) throw;
        ++counts.refused;
      }
    }
  }
  return counts;
}

std::vector<Form> forms() {
  std::vector<Form> forms;
  for (const char* device : {"host", "ascend950pr"}) {
    for (const auto& [op, name] : kEnumNames<OperatorKind>) {
      forms.push_back({op, "", device});
      for (const Variant& variant : all_variants()) {
        if (variant.applies(op)) forms.push_back({op, variant.name, device});
      }
    }
  }
  return forms;
}

}  // namespace

std::string check_table_row(OperatorKind op, std::string_view variant, const std::string& device) {
  const Counts counts = check_all({op, variant, device});
  std::string codes;
  for (const std::string& code : counts.codes) codes += (codes.empty() ? "" : ", ") + code;
  return cat("| ", to_string(op), " | ", variant.empty() ? "default" : variant, " | ", device,
             " | ", counts.sound, " | ", counts.with_findings, " | ", counts.refused, " | ", codes,
             codes.empty() ? "|\n" : " |\n");
}

std::string check_table(const CheckProgress& progress) {
  std::string text =
      "| operator | form | device | sound | with findings | refused by the planner | findings |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Form& form : forms()) {
    if (progress) progress(cat("check: ", to_string(form.op), " ", form.variant));
    text += check_table_row(form.op, form.variant, form.device);
  }
  return text;
}

}  // namespace tandem
