// SPDX-License-Identifier: Apache-2.0
#include "plan_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ops/registry.h"
#include "ops/test_golden.h"
#include "ops/test_problem.h"
#include "report/device_json.h"

namespace tandem {
namespace {

using Json = nlohmann::json;

Json json_of(const Plan& plan) { return Json::parse(plan_to_json(plan)); }

TEST(GoldenPlanJson, MatmulReduceScatterOnAnAccelerator) {
  Problem problem = problem_of(OperatorKind::matmul_reduce_scatter, 2, {512, 256, 128});
  problem.tile_rows = 96;
  problem.blocks = 4;
  const Plan plan = make_plan(problem, load_device("ascend950pr"));
  expect_golden("plan_matmul_reduce_scatter_950pr.json", plan_to_json(plan) + "\n");
}

TEST(GoldenPlanJson, AllGatherMatmulRing) {
  Problem problem = problem_of(OperatorKind::all_gather_matmul, 3, {64, 40, 100});
  problem.tiles = 4;
  problem.slots = 2;
  problem.blocks = 2;
  const Plan plan = make_plan(problem, load_device("host"));
  expect_golden("plan_all_gather_matmul_host.json", plan_to_json(plan) + "\n");
}

// parse(print(plan)) has the plan's numbers.
TEST(PlanJson, CarriesTheNumbersOfThePlan) {
  for (const OperatorEntry& entry : all_operators()) {
    Problem problem = problem_of(entry.kind, 3, {37, 30, 200});
    problem.tiles = 3;
    const Plan plan = make_plan(problem, load_device("host"));
    const Json json = json_of(plan);
    EXPECT_EQ(json["operator"], to_string(entry.kind));
    EXPECT_EQ(json["rounds"], plan.rounds());
    EXPECT_EQ(json["problem"]["m"], 37);
    EXPECT_EQ(json["problem"]["tiles"], "3");
    ASSERT_EQ(json["slices"].size(), plan.slices.size());
    EXPECT_EQ(json["slices"][1]["first"], plan.slices[1].first);
    EXPECT_EQ(json["window"]["bytes"], plan.window_bytes);
    EXPECT_EQ(json["staging_bytes"], plan.staging_bytes);
    EXPECT_EQ(json["blocks"]["count"], plan.blocks);
    EXPECT_EQ(json["blocks"]["jobs"].size(), static_cast<std::size_t>(plan.jobs));
    EXPECT_EQ(json["flags"]["epochs"], plan.epochs);
    EXPECT_EQ(json["tiles"]["full"]["base_m"], plan.tiling_full.base_m);
    EXPECT_EQ(json["tiles"]["regions"].size(), plan.regions.size());
    ASSERT_EQ(json["comm"].size(), plan.comm.size());
    EXPECT_EQ(json["comm"][0]["row_bytes"], Json(plan.comm[0].row_bytes));
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(json["ranks"][rank]["c_rows"], plan.c_rows(rank));
      EXPECT_EQ(json["ranks"][rank]["k"]["count"], plan.k_of(rank).count);
    }
    EXPECT_EQ(json.contains("reduction"), plan.reduction.cores > 0);
    if (json.contains("reduction")) {
      EXPECT_EQ(json["reduction"]["out_offset"], plan.reduction.out_offset);
      EXPECT_EQ(json["reduction"]["map"].size(), plan.reduction.map.size());
    }
  }
}

}  // namespace
}  // namespace tandem
