// SPDX-License-Identifier: Apache-2.0
// Links are measured once, the same on all ranks, and choose the rounds that are left open.
#include "link_figures.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "tandem/error.h"
#include "tandem/operator.h"
#include "tandem/planning.h"
#include "tandem/world.h"

namespace tandem {
namespace {

Problem tall_problem(int ranks) {
  Problem problem;
  problem.op = OperatorKind::matmul_reduce_scatter;
  problem.ranks = ranks;
  problem.m = 8192;
  problem.n = 256;
  problem.k = 64;
  return problem;
}

// "mb_s latency rounds" of each rank.
std::vector<std::string> measured(const std::string& transport, int ranks) {
  const WorldOptions options{.ranks = ranks, .transport = transport, .timeout_ms = 20000};
  const auto outcomes = World::spawn(options, [ranks](World& world) {
    const LinkFigures first = link_figures(world);
    const LinkFigures again = link_figures(world);
    if (again.latency_ns != first.latency_ns) return std::string("measured twice");
    Operator open(world, tall_problem(ranks));
    const bool links = first.mb_s > 0;
    const std::string said = links ? cat("over a link of ", first.mb_s, " MB/s") : "over a link";
    if ((open.plan().find(said) != std::string::npos) != links) return open.plan();
    Problem given = tall_problem(ranks);
    given.tiles = 3;
    Operator chosen(world, given);
    return cat(first.mb_s, ' ', first.latency_ns, ' ', open.rounds(), ' ', chosen.rounds());
  });
  std::vector<std::string> texts;
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.message;
    texts.push_back(outcome.result);
  }
  return texts;
}

TEST(LinkFigures, AreNoneWhereRanksShareMemory) {
  for (const char* transport : {"shm", "threads"}) {
    for (const std::string& text : measured(transport, 2)) EXPECT_EQ(text, "0 0 4 3");
  }
  EXPECT_EQ(measured("tcp", 1).front(), "0 0 4 3");
}

TEST(LinkFigures, ChooseTheRoundsAlikeOnAllRanks) {
  const std::vector<std::string> texts = measured("tcp", 3);
  for (const std::string& text : texts) EXPECT_EQ(text, texts.front());
  std::size_t end = 0;
  const std::int64_t mb_s = std::stoll(texts.front(), &end);
  std::string rest = texts.front().substr(end);
  const std::int64_t latency_ns = std::stoll(rest, &end);
  rest = rest.substr(end);
  // A loopback on a machine at work: between 10 MB/s and 100 GB/s, below 100 ms.
  EXPECT_GT(mb_s, 10);
  EXPECT_LT(mb_s, 100'000);
  EXPECT_GT(latency_ns, 500);
  EXPECT_LT(latency_ns, 100'000'000);
  EXPECT_GE(std::stoi(rest), 1);
  EXPECT_EQ(rest.substr(rest.rfind(' ')), " 3");
}

TEST(LinkFigures, AreGivenToAPlanTogether) {
  const Problem problem = tall_problem(2);
  const std::string plan =
      plan_text(problem, {.workers = 1, .link_mb_s = 100, .link_latency_us = 50});
  // 4096 × 256 BF16 of the other rank's rows.
  EXPECT_NE(plan.find("for transfers of 20972 us"), std::string::npos) << plan;
  EXPECT_NE(plan.find("over a link of 100 MB/s and 50 us"), std::string::npos) << plan;
  try {
    plan_text(problem, {.link_mb_s = 0});
    FAIL() << "half a link was taken";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("give both"), std::string::npos) << text;
    EXPECT_NE(text.find("--link-mb-s is 0"), std::string::npos) << text;
  }
}

TEST(LinkFigures, AreOfRanksThatCannotReadInPlace) {
  Problem problem = tall_problem(2);
  problem.op = OperatorKind::all_gather_matmul;
  problem.transfer = Transfer::direct;
  EXPECT_NE(plan_text(problem, {.workers = 1}).find("read where they lie"), std::string::npos);
  try {
    plan_text(problem, {.workers = 1, .link_mb_s = 100, .link_latency_us = 50});
    FAIL() << "memory was read through a link";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("use copy"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tandem
