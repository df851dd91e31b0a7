// SPDX-License-Identifier: Apache-2.0
#include "plan/scenarios.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace tandem {
namespace {

Requirement put_all_to_all() {
  return {.collective = Collective::all_to_all,
          .product = Product::quant_matmul,
          .direction = Direction::put,
          .input_split = SplitAxis::k,
          .output_split = SplitAxis::m,
          .reduction = Reduction::in_axis,
          .link = Link::udma,
          .native_gap = true,
          .production_implementation = std::nullopt};
}

Requirement put_all_gather() {
  Requirement requirement = put_all_to_all();
  requirement.collective = Collective::all_gather;
  requirement.input_split = SplitAxis::m;
  requirement.output_split = SplitAxis::none;
  requirement.reduction = Reduction::none;
  return requirement;
}

Requirement reduce_scatter() {
  Requirement requirement = put_all_to_all();
  requirement.collective = Collective::reduce_scatter;
  requirement.direction = Direction::compute_first;
  requirement.input_split = SplitAxis::none;
  requirement.reduction = Reduction::cross_rank_sum;
  return requirement;
}

std::string all_reasons(const RouteAnswer& answer) {
  std::string text;
  for (const std::string& reason : answer.reasons) text += reason + '\n';
  return text;
}

bool contains(const std::vector<std::string>& list, std::string_view part) {
  for (const std::string& text : list) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

// Calls use(requirement) with every value of `field`, unset included.
template <typename Field, typename Use>
void each_value(Requirement& requirement, Field Requirement::*field, Use&& use) {
  using Value = typename Field::value_type;
  requirement.*field = std::nullopt;
  use(requirement);
  if constexpr (std::is_same_v<Value, bool>) {
    for (bool value : {false, true}) {
      requirement.*field = value;
      use(requirement);
    }
  } else {
    for (const auto& [value, name] : kEnumNames<Value>) {
      requirement.*field = value;
      use(requirement);
    }
  }
}

template <typename Use>
void each_requirement(Use&& use) {
  Requirement start;
  each_value(start, &Requirement::collective, [&](Requirement& a) {
    each_value(a, &Requirement::product, [&](Requirement& b) {
      each_value(b, &Requirement::direction, [&](Requirement& c) {
        each_value(c, &Requirement::input_split, [&](Requirement& d) {
          each_value(d, &Requirement::output_split, [&](Requirement& e) {
            each_value(e, &Requirement::reduction, [&](Requirement& f) {
              each_value(f, &Requirement::link, [&](Requirement& g) {
                each_value(g, &Requirement::native_gap, [&](Requirement& h) { use(h); });
              });
            });
          });
        });
      });
    });
  });
}

// The criteria of the registry as conditions, for a requirement without open fields.
std::string expected_route(const Requirement& r) {
  if (r.product != Product::quant_matmul || r.link != Link::udma) return "unsupported";
  const std::string gap_or_native = *r.native_gap ? "" : "apace_native";
  if (r.collective == Collective::all_to_all && r.direction == Direction::put) {
    if (r.input_split != SplitAxis::k || r.output_split != SplitAxis::m ||
        r.reduction != Reduction::in_axis) {
      return "unsupported";
    }
    return *r.native_gap ? "put-all-to-all-quant-matmul" : gap_or_native;
  }
  if (r.collective == Collective::all_to_all && r.direction == Direction::get) {
    const bool official = r.input_split == SplitAxis::m && r.output_split == SplitAxis::n &&
                          r.reduction == Reduction::none && !*r.native_gap;
    return official ? "apace_native" : "unsupported";
  }
  if (r.collective == Collective::all_gather && r.direction == Direction::put) {
    if (r.input_split != SplitAxis::m || r.output_split != SplitAxis::none ||
        r.reduction != Reduction::none) {
      return "unsupported";
    }
    return *r.native_gap ? "put-all-gather-quant-matmul" : gap_or_native;
  }
  if (r.collective == Collective::all_gather && r.direction == Direction::get) {
    const bool hit = r.input_split == SplitAxis::n && r.output_split == SplitAxis::none &&
                     r.reduction == Reduction::none && *r.native_gap;
    return hit ? "get-all-gather-quant-matmul" : "unsupported";
  }
  if (r.collective == Collective::reduce_scatter && r.direction == Direction::compute_first) {
    const bool hit = r.output_split == SplitAxis::m && r.reduction == Reduction::cross_rank_sum &&
                     (r.input_split == SplitAxis::k || r.input_split == SplitAxis::none) &&
                     *r.native_gap;
    return hit ? "compute-first-reduce-scatter" : "unsupported";
  }
  return "unsupported";
}

bool complete(const Requirement& r) {
  return r.collective && r.product && r.direction && r.input_split && r.output_split &&
         r.reduction && r.link && r.native_gap;
}

TEST(Scenarios, NoRequirementHitsTwoRowsAndEveryRowIsHit) {
  std::map<std::string, int> hits;
  int requirements = 0;
  each_requirement([&](const Requirement& requirement) {
    ++requirements;
    int count = 0;
    for (auto rows : {scenarios(), native_kernels()}) {
      for (const Scenario& row : rows) {
        if (!judge(requirement, row).hit()) continue;
        ++count;
        ++hits[std::string(row.id)];
      }
    }
    ASSERT_LE(count, 1);
  });
  EXPECT_EQ(requirements, 6 * 5 * 4 * 5 * 5 * 4 * 5 * 3);
  for (auto rows : {scenarios(), native_kernels()}) {
    for (const Scenario& row : rows) EXPECT_GT(hits[std::string(row.id)], 0) << row.id;
  }
}

TEST(Scenarios, EveryCompleteRequirementRoutesAsTheCriteriaSay) {
  std::map<std::string, int> routes;
  each_requirement([&](const Requirement& requirement) {
    if (!complete(requirement)) return;
    const RouteAnswer answer = route(requirement);
    ASSERT_EQ(selected_scenario(answer), expected_route(requirement)) << all_reasons(answer);
    ASSERT_TRUE(answer.missing.empty());
    ASSERT_TRUE(answer.open.empty());
    ASSERT_EQ(answer.reasons.empty(), answer.route != Route::unsupported);
    ++routes[selected_scenario(answer)];
  });
  EXPECT_EQ(routes["put-all-to-all-quant-matmul"], 1);
  EXPECT_EQ(routes["put-all-gather-quant-matmul"], 1);
  EXPECT_EQ(routes["get-all-gather-quant-matmul"], 1);
  EXPECT_EQ(routes["compute-first-reduce-scatter"], 2);  // with complete or K-split input
  EXPECT_EQ(routes["apace_native"], 3);
}

TEST(Scenarios, AnIncompleteRequirementIsNeverGuessed) {
  each_requirement([&](const Requirement& requirement) {
    const RouteAnswer answer = route(requirement);
    if (answer.route == Route::unsupported) {
      ASSERT_FALSE(answer.reasons.empty());
      return;
    }
    // Whatever an open field turns out to be, the answer can't become another row.
    Requirement more = requirement;
    const auto same_or_none = [&](const Requirement& known) {
      const RouteAnswer later = route(known);
      ASSERT_TRUE(later.route == Route::unsupported || later.id == answer.id);
    };
    if (!more.input_split) each_value(more, &Requirement::input_split, same_or_none);
    more = requirement;
    if (!more.output_split) each_value(more, &Requirement::output_split, same_or_none);
    more = requirement;
    if (!more.reduction) each_value(more, &Requirement::reduction, same_or_none);
    more = requirement;
    if (!more.native_gap) each_value(more, &Requirement::native_gap, same_or_none);
    ASSERT_TRUE(requirement.collective && requirement.product && requirement.direction &&
                requirement.link);
  });
}

TEST(Scenarios, NamesTheMissingFields) {
  Requirement requirement = put_all_gather();
  requirement.native_gap = std::nullopt;
  requirement.output_split = std::nullopt;
  const RouteAnswer answer = route(requirement);
  EXPECT_EQ(answer.route, Route::unsupported);
  EXPECT_EQ(answer.missing, (std::vector<std::string>{"output_split", "native_gap"}));
  EXPECT_TRUE(contains(answer.reasons,
                       "still possible: all_gather_quant_matmul, "
                       "put-all-gather-quant-matmul"))
      << all_reasons(answer);
  EXPECT_EQ(route(Requirement{}).missing.size(), 7u);
}

TEST(Scenarios, ExplainsWhyNothingIsHit) {
  // M aggregation with sharded output is outside both all-to-all and all-gather.
  Requirement requirement = put_all_gather();
  requirement.output_split = SplitAxis::m;
  const RouteAnswer answer = route(requirement);
  EXPECT_EQ(selected_scenario(answer), "unsupported");
  EXPECT_TRUE(
      contains(answer.reasons, "put-all-gather-quant-matmul: output_split is m, needs none"))
      << all_reasons(answer);
  requirement = reduce_scatter();
  requirement.input_split = SplitAxis::n;
  EXPECT_TRUE(contains(route(requirement).reasons, "input_split is n, needs k or none"));
  requirement = reduce_scatter();
  requirement.collective = Collective::all_reduce;
  EXPECT_EQ(route(requirement).route, Route::unsupported);
}

TEST(Scenarios, LeavesOpenFieldsToBeSettled) {
  // Complete input or a K split: must be asked before a design, but does not change the route.
  Requirement requirement = reduce_scatter();
  requirement.input_split = std::nullopt;
  const RouteAnswer answer = route(requirement);
  EXPECT_EQ(selected_scenario(answer), "compute-first-reduce-scatter");
  EXPECT_EQ(answer.open, (std::vector<std::string>{"input_split"}));
}

TEST(Scenarios, AProductionImplementationNeverBlocks) {
  for (Requirement requirement : {put_all_to_all(), put_all_gather(), reduce_scatter()}) {
    const RouteAnswer without = route(requirement);
    requirement.production_implementation = true;
    const RouteAnswer with = route(requirement);
    EXPECT_EQ(with.route, Route::apace_custom);
    EXPECT_EQ(with.id, without.id);
    EXPECT_TRUE(contains(with.notes, "does not block"));
    EXPECT_FALSE(contains(without.notes, "does not block"));
  }
  for (const Scenario& row : scenarios()) {
    EXPECT_TRUE(row.production_exempt) << row.id;
    for (const Criterion& criterion : row.criteria) {
      EXPECT_NE(criterion.field, "production_implementation") << row.id;
    }
  }
}

TEST(Scenarios, AllFourAreImplementedHereAndUpstreamStatusIsKept) {
  ASSERT_EQ(scenarios().size(), 4u);
  for (const Scenario& row : scenarios()) {
    EXPECT_EQ(row.status, ScenarioStatus::implemented) << row.id;
    EXPECT_TRUE(row.op.has_value()) << row.id;
    EXPECT_EQ(row.upstream_status, row.id == "get-all-gather-quant-matmul"
                                       ? ScenarioStatus::not_found
                                       : ScenarioStatus::implemented);
  }
  Requirement requirement = put_all_gather();
  requirement.direction = Direction::get;
  requirement.input_split = SplitAxis::n;
  const RouteAnswer answer = route(requirement);
  EXPECT_EQ(answer.scenario->op, OperatorKind::matmul_all_gather);
  EXPECT_TRUE(contains(answer.notes, "needs proof first"));
}

TEST(Scenarios, CriteriaNameFieldsAndWordsThatExist) {
  for (auto rows : {scenarios(), native_kernels()}) {
    for (const Scenario& row : rows) {
      for (const Criterion& criterion : row.criteria) {
        bool known = false;
        Requirement requirement;
        visit_fields(requirement, [&]<typename E>(std::string_view name, std::optional<E>&) {
          if (name != criterion.field) return;
          known = true;
          for (std::string_view word : criterion.words) {
            if constexpr (std::is_same_v<E, bool>) {
              EXPECT_TRUE(word == "true" || word == "false") << row.id;
            } else {
              EXPECT_TRUE(try_parse<E>(word).has_value()) << row.id << ' ' << word;
            }
          }
        });
        EXPECT_TRUE(known) << row.id << ' ' << criterion.field;
      }
    }
  }
}

TEST(Scenarios, SeveralHitsAndPlannedRowsStop) {
  std::vector<Scenario> rows{{.id = "first", .criteria = {{"direction", {"put"}}}},
                             {.id = "second", .criteria = {{"product", {"quant-matmul"}}}}};
  const RouteAnswer both = route(put_all_to_all(), rows, {});
  EXPECT_EQ(both.route, Route::unsupported);
  EXPECT_TRUE(contains(both.reasons, "several hits: first, second")) << all_reasons(both);
  // A hit beside a row that an open field may turn into a second one is no answer either.
  Requirement requirement = put_all_to_all();
  requirement.product = std::nullopt;
  EXPECT_EQ(route(requirement, rows, {}).missing, (std::vector<std::string>{"product"}));
  rows.pop_back();
  EXPECT_EQ(route(requirement, rows, {}).id, "first");
  rows.front().status = ScenarioStatus::planned;
  const RouteAnswer planned = route(requirement, rows, {});
  EXPECT_EQ(planned.route, Route::unsupported);
  EXPECT_TRUE(contains(planned.reasons, "only planned"));
  rows.front().status = ScenarioStatus::not_found;
  EXPECT_TRUE(contains(route(requirement, rows, {}).notes, "verify against source"));
}

}  // namespace
}  // namespace tandem
