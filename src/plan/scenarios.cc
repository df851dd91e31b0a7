// SPDX-License-Identifier: Apache-2.0
#include "plan/scenarios.h"

#include <algorithm>
#include <limits>

namespace tandem {
namespace {

const std::vector<Scenario>& scenario_table() {
  static const std::vector<Scenario> table{
      {.id = "put-all-to-all-quant-matmul",
       .support = "variants of all-to-all then quantised matmul: element type, bias, scale fusion, "
                  "split, orchestration; K split, UDMA",
       .op = OperatorKind::all_to_all_matmul,
       .criteria = {{"collective", {"all-to-all"}},
                    {"product", {"quant-matmul"}},
                    {"direction", {"put"}},
                    {"input_split", {"k"}},
                    {"link", {"udma"}},
                    {"native_gap", {"true"}},
                    {"output_split", {"m"}, Need::consistent},
                    {"reduction", {"in-axis"}, Need::consistent}}},
      {.id = "put-all-gather-quant-matmul",
       .support = "variants of all-gather then quantised matmul: element type, bias, more than 8 "
                  "ranks, orchestration; M aggregation with the whole C on each rank, UDMA",
       .op = OperatorKind::all_gather_matmul,
       .criteria = {{"collective", {"all-gather"}},
                    {"product", {"quant-matmul"}},
                    {"direction", {"put"}},
                    {"input_split", {"m"}},
                    {"output_split", {"none"}},
                    {"link", {"udma"}},
                    {"native_gap", {"true"}},
                    {"reduction", {"none"}, Need::consistent}}},
      {.id = "get-all-gather-quant-matmul",
       .support = "quantised matmul then all-gather by reads, N split, UDMA",
       .op = OperatorKind::matmul_all_gather,
       .upstream_status = ScenarioStatus::not_found,
       .criteria = {{"collective", {"all-gather"}},
                    {"product", {"quant-matmul"}},
                    {"direction", {"get"}},
                    {"input_split", {"n"}},
                    {"link", {"udma"}},
                    {"native_gap", {"true"}},
                    {"output_split", {"none"}, Need::consistent},
                    {"reduction", {"none"}, Need::consistent}}},
      {.id = "compute-first-reduce-scatter",
       .support = "quantised matmul whose partial results are summed over the ranks, M-sharded "
                  "output, complete or K-split input, UDMA",
       .op = OperatorKind::matmul_reduce_scatter,
       .criteria = {{"collective", {"reduce-scatter"}},
                    {"product", {"quant-matmul"}},
                    {"direction", {"compute-first"}},
                    {"output_split", {"m"}},
                    {"link", {"udma"}},
                    {"native_gap", {"true"}},
                    {"reduction", {"cross-rank-sum"}, Need::consistent},
                    {"input_split", {"k", "none"}, Need::consistent}}},
  };
  return table;
}

const std::vector<Scenario>& native_table() {
  static const std::vector<Scenario> table{
      {.id = "all_to_all_quant_matmul",
       .support = "official PUT kernel: all-to-all of K parts, then quantised matmul",
       .op = OperatorKind::all_to_all_matmul,
       .criteria = {{"collective", {"all-to-all"}},
                    {"product", {"quant-matmul"}},
                    {"direction", {"put"}},
                    {"input_split", {"k"}},
                    {"link", {"udma"}},
                    {"native_gap", {"false"}},
                    {"output_split", {"m"}, Need::consistent},
                    {"reduction", {"in-axis"}, Need::consistent}}},
      {.id = "all_gather_quant_matmul",
       .support = "official PUT kernel: all-gather of M parts, then quantised matmul",
       .op = OperatorKind::all_gather_matmul,
       .criteria = {{"collective", {"all-gather"}},
                    {"product", {"quant-matmul"}},
                    {"direction", {"put"}},
                    {"input_split", {"m"}},
                    {"output_split", {"none"}},
                    {"link", {"udma"}},
                    {"native_gap", {"false"}},
                    {"reduction", {"none"}, Need::consistent}}},
      {.id = "quant_matmul_all_to_all",
       .support = "official GET kernel: quantised matmul, then all-to-all of its columns",
       .criteria = {{"collective", {"all-to-all"}},
                    {"product", {"quant-matmul"}},
                    {"direction", {"get"}},
                    {"input_split", {"m"}},
                    {"output_split", {"n"}},
                    {"link", {"udma"}},
                    {"native_gap", {"false"}},
                    {"reduction", {"none"}, Need::consistent}}},
  };
  return table;
}

std::string_view spelling(bool value) { return value ? "true" : "false"; }
template <typename E>
std::string_view spelling(E value) {
  return to_string(value);
}

// The spelling of a field's value, or nothing if it is not given.
std::optional<std::string_view> value_of(const Requirement& requirement, std::string_view field) {
  std::optional<std::string_view> value;
  visit_fields(requirement, [&](std::string_view name, const auto& content) {
    if (name == field && content) value = spelling(*content);
  });
  return value;
}

std::string joined(const std::vector<std::string_view>& words, std::string_view separator) {
  std::string text;
  for (std::string_view word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::string violation_text(const Requirement& requirement, const Scenario& row,
                           const Judgement& judgement) {
  std::string text = std::string(row.id) + ": ";
  for (std::size_t i = 0; i < judgement.violated.size(); ++i) {
    const Criterion& criterion = *judgement.violated[i];
    if (i > 0) text += ", ";
    text += std::string(criterion.field) + " is " +
            std::string(value_of(requirement, criterion.field).value_or("?")) + ", needs " +
            joined(criterion.words, " or ");
  }
  return text;
}

void add_once(std::vector<std::string>& list, std::string_view word) {
  if (std::find(list.begin(), list.end(), word) == list.end()) list.emplace_back(word);
}

struct JudgedRow {
  const Scenario* row = nullptr;
  Judgement judgement;
};

// No row can be hit whatever the open fields turn out to be: name the nearest ones.
void explain_no_hit(const Requirement& requirement, const std::vector<JudgedRow>& judged,
                    RouteAnswer& answer) {
  answer.reasons.push_back("no scenario and no official kernel has these semantics");
  std::size_t nearest = std::numeric_limits<std::size_t>::max();
  for (const JudgedRow& item : judged) {
    nearest = std::min(nearest, item.judgement.violated.size());
  }
  for (const JudgedRow& item : judged) {
    if (item.judgement.violated.size() != nearest) continue;
    answer.reasons.push_back("nearest " + violation_text(requirement, *item.row, item.judgement));
  }
}

void explain_missing(const std::vector<const JudgedRow*>& undecided, RouteAnswer& answer) {
  std::string ids;
  for (const JudgedRow* item : undecided) {
    if (!ids.empty()) ids += ", ";
    ids += item->row->id;
    for (const Criterion* criterion : item->judgement.missing) {
      add_once(answer.missing, criterion->field);
    }
  }
  std::string fields;
  for (const std::string& field : answer.missing) fields += (fields.empty() ? "" : ", ") + field;
  answer.reasons.push_back("not decidable: " + fields + " not given; still possible: " + ids +
                           "; ask, don't assume");
}

void explain_several(const std::vector<const JudgedRow*>& hits, RouteAnswer& answer) {
  std::string ids;
  for (const JudgedRow* item : hits) {
    if (!ids.empty()) ids += ", ";
    ids += item->row->id;
  }
  answer.reasons.push_back("several hits: " + ids +
                           "; the registry is at fault or the requirement is unclear: stop and "
                           "ask, never choose one");
}

void add_notes(const Requirement& requirement, const Scenario& row, bool native,
               RouteAnswer& answer) {
  if (native) {
    answer.notes.push_back(
        "an official kernel serves this; the scenario registry is not consulted");
  }
  if (row.op) {
    answer.notes.push_back("implemented here as operator " + std::string(to_string(*row.op)));
  } else {
    answer.notes.push_back("no operator here implements it");
  }
  if (row.upstream_status == ScenarioStatus::not_found) {
    answer.notes.push_back(
        "the original design lists it as not_found: no kernel of its code base "
        "uses it, so its guide there is a derivation that needs proof first");
  } else if (row.upstream_status == ScenarioStatus::planned) {
    answer.notes.push_back("the original design lists it as planned: not usable for a decision");
  }
  if (row.status == ScenarioStatus::not_found) {
    answer.notes.push_back("not_found here: verify against source before adopting it");
  }
  if (requirement.production_implementation == true && row.production_exempt) {
    answer.notes.push_back(
        "an existing production implementation does not block this route; the "
        "guide also serves as the handbook for changing it");
  }
}

void select(const Requirement& requirement, const JudgedRow& hit, bool native,
            RouteAnswer& answer) {
  const Scenario& row = *hit.row;
  if (row.status == ScenarioStatus::planned) {
    answer.reasons.push_back(std::string(row.id) +
                             " is only planned and not usable for a decision");
    return;
  }
  if (requirement.production_implementation == true && !row.production_exempt) {
    answer.reasons.push_back(std::string(row.id) + " has a production implementation already");
    return;
  }
  answer.route = native ? Route::apace_native : Route::apace_custom;
  answer.id = row.id;
  answer.scenario = &row;
  for (const Criterion* criterion : hit.judgement.open) add_once(answer.open, criterion->field);
  add_notes(requirement, row, native, answer);
}

}  // namespace

std::span<const Scenario> scenarios() { return scenario_table(); }
std::span<const Scenario> native_kernels() { return native_table(); }

Judgement judge(const Requirement& requirement, const Scenario& row) {
  Judgement judgement;
  for (const Criterion& criterion : row.criteria) {
    const std::optional<std::string_view> value = value_of(requirement, criterion.field);
    if (!value) {
      auto& list = criterion.need == Need::decisive ? judgement.missing : judgement.open;
      list.push_back(&criterion);
    } else if (std::find(criterion.words.begin(), criterion.words.end(), *value) ==
               criterion.words.end()) {
      judgement.violated.push_back(&criterion);
    }
  }
  return judgement;
}

RouteAnswer route(const Requirement& requirement, std::span<const Scenario> rows,
                  std::span<const Scenario> native) {
  std::vector<JudgedRow> judged;
  for (const Scenario& row : native) judged.push_back({&row, judge(requirement, row)});
  for (const Scenario& row : rows) judged.push_back({&row, judge(requirement, row)});
  std::vector<const JudgedRow*> hits;
  std::vector<const JudgedRow*> undecided;
  for (const JudgedRow& item : judged) {
    if (item.judgement.hit()) {
      hits.push_back(&item);
    } else if (item.judgement.violated.empty()) {
      undecided.push_back(&item);
    }
  }

  RouteAnswer answer;
  if (hits.size() > 1) {
    explain_several(hits, answer);
  } else if (!undecided.empty()) {
    // A hit beside an undecided row could become two: both must be settled by the same fields.
    explain_missing(undecided, answer);
  } else if (hits.empty()) {
    explain_no_hit(requirement, judged, answer);
  } else {
    const Scenario* row = hits.front()->row;
    const bool is_native = std::any_of(native.begin(), native.end(),
                                       [&](const Scenario& kernel) { return &kernel == row; });
    select(requirement, *hits.front(), is_native, answer);
  }
  return answer;
}

RouteAnswer route(const Requirement& requirement) {
  return route(requirement, scenarios(), native_kernels());
}

std::string selected_scenario(const RouteAnswer& answer) {
  return answer.route == Route::apace_custom ? answer.id : std::string(to_string(answer.route));
}

}  // namespace tandem
