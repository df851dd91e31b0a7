// SPDX-License-Identifier: Apache-2.0
// Options that only some operators know, and those that a world or a device cannot take.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/strings.h"
#include "ops/test_problem.h"
#include "ops/test_refusal.h"
#include "report/device_json.h"

namespace tandem {
namespace {

using enum OperatorKind;

constexpr OperatorKind kAll[] = {all_to_all_matmul, all_gather_matmul, matmul_all_gather,
                                 matmul_reduce_scatter};

struct Option {
  const char* name;
  std::function<void(Problem&)> set;
  std::vector<OperatorKind> known;
};

TEST(Options, AreRefusedForOperatorsThatDoNotKnowThem) {
  const Option options[] = {
      {"--local-matmul", [](Problem& p) { p.local_matmul = 1; }, {all_to_all_matmul}},
      {"--slots", [](Problem& p) { p.slots = 1; }, {all_gather_matmul, matmul_all_gather}},
      {"--staging", [](Problem& p) { p.staging = OutputType::fp32; }, {matmul_reduce_scatter}},
      {"--cores", [](Problem& p) { p.cores = CoreMapping::shared; }, {matmul_reduce_scatter}},
      {"--reduction",
       [](Problem& p) { p.reduction = ReductionForm::rows; },
       {matmul_reduce_scatter}},
      {"--ub", [](Problem& p) { p.ub = UbManagement::pipe; }, {matmul_reduce_scatter}},
      {"--strided", [](Problem& p) { p.strided = StridedCopy::single; }, {matmul_reduce_scatter}},
      {"--product",
       [](Problem& p) { p.product = ProductForm::subcalls; },
       {all_gather_matmul, matmul_reduce_scatter}},
      {"--transfer direct",
       [](Problem& p) { p.transfer = Transfer::direct; },
       {all_to_all_matmul, all_gather_matmul, matmul_reduce_scatter}},
  };
  for (const Option& option : options) {
    for (OperatorKind op : kAll) {
      Problem problem = problem_of(op, 2, {64, 64, 128});
      option.set(problem);
      const auto reasons = reasons_against(problem, load_device("host"));
      const bool known = std::ranges::count(option.known, op) > 0;
      ASSERT_EQ(reasons.size(), known ? 0u : 1u) << option.name << testing::PrintToString(reasons);
      if (!known) {
        EXPECT_NE(reasons[0].find(cat(option.name, " applies to ")), std::string::npos);
      }
    }
  }
}

// Reading in place needs memory that the ranks share, and cores that can address it.
TEST(Options, ReadingInPlaceIsRefusedWhereMemoryIsNotShared) {
  Problem problem = problem_of(all_gather_matmul, 2, {64, 64, 128});
  problem.transfer = Transfer::direct;
  Device linked = load_device("host");
  EXPECT_TRUE(reasons_against(problem, linked).empty());
  linked.linked = true;
  const auto by_link = reasons_against(problem, linked);
  ASSERT_EQ(by_link.size(), 1u);
  EXPECT_NE(by_link[0].find("ranks that a link connects cannot read"), std::string::npos);
  problem = problem_of(all_gather_matmul, 4, {2048, 2560, 4096});
  EXPECT_TRUE(reasons_against(problem, load_device("ascend950pr")).empty());
  problem.transfer = Transfer::direct;
  const auto by_device = reasons_against(problem, load_device("ascend950pr"));
  ASSERT_EQ(by_device.size(), 1u);
  EXPECT_NE(by_device[0].find("by transfers alone; use copy"), std::string::npos);
}

}  // namespace
}  // namespace tandem
