// SPDX-License-Identifier: Apache-2.0
#include "case.h"

#include <errno.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "problem_fields.h"

namespace tandem::differential {
namespace {

std::string joined(const Problem& problem) {
  std::string text;
  for (const auto& [name, value] : problem_fields(problem)) text += name + '=' + value + ' ';
  return text;
}

}  // namespace

std::string_view to_string(InputKind kind) {
  switch (kind) {
    case InputKind::normal:
      return "normal";
    case InputKind::coded:
      return "coded";
    case InputKind::extreme:
      return "extreme";
  }
  return "?";
}

std::string description(const Case& one) {
  const Problem& problem = one.problem;
  Problem plain;  // whose other options are the defaults
  plain.op = problem.op;
  plain.ranks = problem.ranks;
  plain.m = problem.m;
  plain.n = problem.n;
  plain.k = problem.k;
  std::string text = cat(to_string(problem.op), " -R ", problem.ranks, " -m ", problem.m, " -n ",
                         problem.n, " -k ", problem.k);
  const auto defaults = problem_fields(plain);
  const auto fields = problem_fields(problem);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& [name, value] = fields[i];
    if (value == defaults[i].second) continue;
    text += " --" + name;
    if (value != "yes") text += ' ' + value;
  }
  const std::size_t shared = one.transport.find("_shared");
  return text + cat(" --transport ", one.transport.substr(0, shared),
                    shared != std::string::npos ? " --same-host shared" : "", " --input ",
                    to_string(one.inputs), " --workers ", one.workers, " --seed ", one.seed);
}

std::string reproduce(const Case& one) {
  std::string filter = "*";
  if (const auto* test = testing::UnitTest::GetInstance()->current_test_info()) {
    filter = cat(test->test_suite_name(), '.', test->name());
  }
  return cat("case ", description(one), "; reproduce: TANDEM_CASE=", one.seed, ' ',
             program_invocation_short_name, " --gtest_filter=", filter);
}

std::string data_key(const Case& one) {
  Problem problem = one.problem;
  const Problem plain;
  problem.tiles = plain.tiles;
  problem.tile_rows = plain.tile_rows;
  problem.tail = plain.tail;
  problem.slots = plain.slots;
  problem.blocks = plain.blocks;
  problem.cores = plain.cores;
  problem.flags = plain.flags;
  problem.reduction = plain.reduction;
  problem.product = plain.product;
  problem.ub = plain.ub;
  problem.strided = plain.strided;
  problem.barrier = plain.barrier;
  problem.fence = plain.fence;
  problem.transfer = plain.transfer;
  return joined(problem) + cat(to_string(one.inputs), ' ', one.seed);
}

std::string world_key(const Case& one) {
  return cat(one.transport, ' ', one.problem.ranks, ' ', one.workers);
}

}  // namespace tandem::differential
