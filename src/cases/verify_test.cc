// SPDX-License-Identifier: Apache-2.0
// The check itself: it accepts what is right, and each kind of wrong result is caught.
#include "cases/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "ops/registry.h"
#include "report/device_json.h"

namespace tandem {
namespace {

using enum OperatorKind;

constexpr int kRanks = 3;

Problem problem_of(OperatorKind op) {
  Problem problem{.op = op, .ranks = kRanks, .m = 40, .n = 35, .k = 200};
  problem.dtype_b = ElementFormat::e5m2;
  problem.bias = true;
  problem.tiles = 3;
  return problem;
}

// A source with something changed in the operands that it hands out.
class Tampered : public OperandSource {
 public:
  using Change = std::function<void(int rank, std::int64_t row, std::uint8_t* codes)>;

  Tampered(const OperandSource& from, Change change_a) : from_(from), change_a_(change_a) {}

  void fill_a(int rank, Slice rows, MxRows& out, std::int64_t at) const override {
    from_.fill_a(rank, rows, out, at);
    for (std::int64_t i = 0; i < rows.count; ++i) {
      change_a_(rank, rows.first + i, out.codes(at + i));
    }
  }
  void fill_b(int rank, Slice columns, MxRows& out, std::int64_t at) const override {
    from_.fill_b(rank, columns, out, at);
  }
  std::vector<float> bias(int rank) const override { return from_.bias(rank); }

 private:
  const OperandSource& from_;
  Change change_a_;
};

class Checked {
 public:
  explicit Checked(const Problem& problem)
      : plan(make_plan(problem, load_device("host"))), source(make_generator(problem, {})) {}

  // C of a rank as the reference twin computes it, from any operands.
  std::vector<std::uint8_t> c_of(int rank, const OperandSource& operands) const {
    std::vector<Operands> held;
    std::vector<MxOperand> a;
    std::vector<MxOperand> b;
    std::vector<const float*> bias;
    for (int peer = 0; peer < plan.ranks; ++peer) {
      held.push_back(lay_out(plan.problem, operands, peer));
    }
    for (const Operands& one : held) {
      a.push_back(one.a());
      b.push_back(one.b());
      bias.push_back(one.bias_or_null());
    }
    return reference(plan.problem, a, b, bias, rank);
  }
  std::vector<std::uint8_t> c_of(int rank) const { return c_of(rank, *source); }

  Verification check(int rank, std::vector<std::uint8_t> c,
                     const VerifyOptions& options = {}) const {
    const LaunchResult result{0, std::move(c)};
    return verify(plan, *source, rank, {&result, 1}, options);
  }

  Plan plan;
  std::unique_ptr<OperandSource> source;
};

TEST(Verify, AcceptsTheReferenceOnEveryRankOfEveryOperator) {
  for (const auto& [op, name] : kEnumNames<OperatorKind>) {
    for (const auto& [type, type_name] : kEnumNames<OutputType>) {
      Problem problem = problem_of(op);
      problem.dtype_c = type;
      const Checked checked(problem);
      for (int rank = 0; rank < kRanks; ++rank) {
        const Verification found = checked.check(rank, checked.c_of(rank));
        EXPECT_EQ(found.differing, 0) << name << type_name;
        EXPECT_EQ(found.elements, checked.plan.c_rows(rank) * problem.n);
        EXPECT_EQ(found.exact_rows, checked.plan.c_rows(rank));
        EXPECT_GT(found.bound_ratio, 0.0);
        EXPECT_LE(found.bound_ratio, 1.0) << name << type_name;
      }
    }
  }
}

TEST(Verify, FindsTheSameInManySmallSteps) {
  for (const auto& [op, name] : kEnumNames<OperatorKind>) {
    Problem problem = problem_of(op);
    if (op == all_to_all_matmul) problem.local_matmul = 1;
    const Checked checked(problem);
    for (int rank = 0; rank < kRanks; ++rank) {
      std::vector<std::uint8_t> c = checked.c_of(rank);
      c[c.size() - 2] ^= 1;
      const Verification whole = checked.check(rank, c);
      // Seven products of a row of 35 · 200: steps of seven rows, or of two with three ranks.
      const VerifyOptions options{.step_work_max = 7 * 35 * 200};
      const Verification steps = checked.check(rank, c, options);
      EXPECT_EQ(whole.differing, 1);
      EXPECT_EQ(steps.differing, 1);
      EXPECT_EQ(steps.first->index, whole.first->index);
      EXPECT_EQ(steps.first->index, whole.elements - 1);
      EXPECT_EQ(steps.exact_rows, whole.exact_rows);
      EXPECT_EQ(steps.ulp_max, whole.ulp_max);
      EXPECT_EQ(steps.bound_ratio, whole.bound_ratio);
    }
  }
}

TEST(Verify, KeepsTheOrderOfSumsOfTheWholeProblem) {
  // Products of up to eight rows sum in lane order; those of nine do not, whatever the step.
  for (const auto& [op, name] : kEnumNames<OperatorKind>) {
    const bool gathers = op == all_gather_matmul;
    for (const std::int64_t m : {gathers ? 2 : 8, gathers ? 3 : 9}) {
      Problem problem = problem_of(op);
      problem.m = m;
      problem.dtype_c = OutputType::fp32;  // BF16 would hide the last bits
      if (op == matmul_reduce_scatter) problem.staging = OutputType::fp32;
      const Checked checked(problem);
      EXPECT_EQ(checked.plan.order, m == 2 || m == 8 ? SumOrder::lane : SumOrder::panel);
      const Verification found = checked.check(0, checked.c_of(0), {.step_work_max = 1});
      EXPECT_EQ(found.differing, 0) << name << m;
    }
  }
}

TEST(Verify, CatchesASwappedTile) {
  for (const auto& [op, name] : kEnumNames<OperatorKind>) {
    const Checked checked(problem_of(op));
    std::vector<std::uint8_t> c = checked.c_of(1);
    // Rows 0 to 3, columns 8 to 15 change places with columns 16 to 23.
    for (int row = 0; row < 4; ++row) {
      std::uint8_t* line = c.data() + row * checked.plan.problem.n * 2;
      std::swap_ranges(line + 16, line + 32, line + 32);
    }
    const Verification found = checked.check(1, c);
    EXPECT_GE(found.differing, 4 * 16 - 4) << name;  // bf16 neighbours may agree by chance
    EXPECT_LE(found.differing, 4 * 16) << name;
    ASSERT_TRUE(found.first);
    EXPECT_EQ(found.first->row, 0);
    EXPECT_TRUE(found.first->column == 8 || found.first->column == 9) << found.first->column;
    EXPECT_GT(found.bound_ratio, 1.0);
  }
}

TEST(Verify, CatchesAGroupOf32ThatWasLeftOut) {
  for (const auto& [op, name] : kEnumNames<OperatorKind>) {
    const Checked checked(problem_of(op));
    // The second group of row 2 of the block that rank 1 receives; a short K has one only.
    const std::int64_t row = checked.plan.rows_of(1).first + 2;
    const bool by_block = op == all_to_all_matmul || op == matmul_reduce_scatter;
    const Tampered wrong(*checked.source, [&](int rank, std::int64_t i, std::uint8_t* codes) {
      if (rank == 1 && i == (by_block ? row : 2)) std::fill_n(codes + 32, 32, std::uint8_t{0});
    });
    const Verification found = checked.check(1, checked.c_of(1, wrong));
    EXPECT_GT(found.differing, 25) << name;
    EXPECT_LE(found.differing, 35) << name;  // one row of C
    EXPECT_GT(found.bound_ratio, 1.0) << name;
  }
}

TEST(Verify, CatchesAMissingPartialOfOneRank) {
  for (const OperatorKind op : {all_to_all_matmul, matmul_reduce_scatter}) {
    const Checked checked(problem_of(op));
    for (int missing = 0; missing < kRanks; ++missing) {
      const Tampered wrong(*checked.source, [&](int rank, std::int64_t, std::uint8_t* codes) {
        if (rank == missing) std::fill_n(codes, checked.plan.k_of(rank).count, std::uint8_t{0});
      });
      const Verification found = checked.check(0, checked.c_of(0, wrong));
      EXPECT_GT(found.differing, found.elements * 9 / 10);
      EXPECT_EQ(found.first->source_rank, -1) << "sums come from all ranks";
      EXPECT_GT(found.bound_ratio, 1.0);
    }
  }
}

TEST(Verify, CatchesRowsOfAnotherRank) {
  const Checked checked(problem_of(all_gather_matmul));
  std::vector<std::uint8_t> c = checked.c_of(0);
  const std::int64_t block = 40 * 35 * 2;
  std::swap_ranges(c.begin() + block, c.begin() + 2 * block, c.begin() + 2 * block);
  const Verification found = checked.check(0, c);
  EXPECT_GT(found.differing, 2 * 40 * 35 * 9 / 10);
  EXPECT_EQ(found.first->source_rank, 1);
}

TEST(Verify, SaysWhereAnElementComesFrom) {
  struct Place {
    OperatorKind op;
    std::int64_t row, column;
    int source_rank, round;
  };
  // 40 rows in rounds of 14, 13, 13; reduce-scatter: 14 rows of rank 0 in 5, 5, 4.
  for (const Place& place :
       {Place{all_gather_matmul, 5, 3, 0, 0},         // of rank 0's rows
        Place{all_gather_matmul, 40 + 30, 3, 1, -1},  // own
        Place{all_gather_matmul, 80 + 5, 3, 2, 0}, Place{all_gather_matmul, 80 + 30, 3, 2, 2},
        Place{all_to_all_matmul, 14, 34, -1, 1},
        Place{matmul_all_gather, 26, 11, 0, 1},  // 12, 12, 11 columns
        Place{matmul_all_gather, 26, 12, 1, -1}, Place{matmul_all_gather, 27, 34, 2, 2},
        Place{matmul_reduce_scatter, 9, 0, -1, 1}}) {
    const Checked checked(problem_of(place.op));
    std::vector<std::uint8_t> c = checked.c_of(1);
    c[(place.row * 35 + place.column) * 2] ^= 1;
    const Verification found = checked.check(1, c);
    ASSERT_EQ(found.differing, 1);
    EXPECT_EQ(found.first->rank, 1);
    EXPECT_EQ(found.first->index, place.row * 35 + place.column);
    EXPECT_EQ(found.first->row, place.row);
    EXPECT_EQ(found.first->column, place.column);
    EXPECT_EQ(found.first->source_rank, place.source_rank) << place.row;
    EXPECT_EQ(found.first->round, place.round) << place.row;
    EXPECT_EQ(found.first->got ^ found.first->want, 1u);
  }
}

TEST(Verify, NamesTheLaunchThatWentWrong) {
  const Checked checked(problem_of(matmul_all_gather));
  std::vector<LaunchResult> results(2, {0, checked.c_of(2)});
  results[1].launch = 6;
  results[1].c[100] ^= 1;
  const Verification found = verify(checked.plan, *checked.source, 2, results);
  EXPECT_EQ(found.differing, 1);
  EXPECT_EQ(found.first->launch, 6);
  EXPECT_EQ(found.first->index, 50);
}

TEST(Verify, TakesNanForNanButNotForPoison) {
  // A NaN code in row 3 of A makes row 3 of C NaN; its payload is free, all ones is the poison.
  Checked checked(problem_of(matmul_all_gather));
  const auto plain = std::move(checked.source);
  checked.source =
      std::make_unique<Tampered>(*plain, [](int, std::int64_t row, std::uint8_t* codes) {
        if (row == 3) codes[17] = 0x7F;
      });
  std::vector<std::uint8_t> c = checked.c_of(0);
  std::uint16_t* row = reinterpret_cast<std::uint16_t*>(c.data()) + 3 * 35;
  EXPECT_EQ(checked.check(0, c).differing, 0);
  row[4] = 0xFFC1;
  EXPECT_EQ(checked.check(0, c).differing, 0);
  row[5] = 0xFFFF;
  EXPECT_EQ(checked.check(0, c).differing, 1);
  row[5] = 0x7F80;  // infinity is none
  row[6] = 0x3F80;
  EXPECT_EQ(checked.check(0, c).differing, 2);
  row[5] = row[6] = 0x7FC0;
  row[-1] = 0x7FC0;  // a number is wanted in row 2
  EXPECT_EQ(checked.check(0, c).differing, 1);
}

TEST(Verify, ComparesBitsEverywhereWhenTheExactProductIsSampled) {
  const Checked checked(problem_of(all_gather_matmul));
  // Rows of C: 3 · 40. A step has 3 · 2 rows; FP64 for about a quarter of the work.
  const std::int64_t row_work = 3 * 35 * 200;
  const VerifyOptions options{.exact_work_max = 10 * row_work, .step_work_max = 2 * row_work};
  for (std::int64_t element = 0; element < 120 * 35; element += 611) {
    std::vector<std::uint8_t> c = checked.c_of(0);
    c[element * 2] ^= 1;
    const Verification found = checked.check(0, c, options);
    EXPECT_EQ(found.differing, 1);
    EXPECT_EQ(found.first->index, element);
    EXPECT_EQ(found.exact_rows, 30);
    EXPECT_EQ(found.rows, 120);
  }
}

TEST(Verify, CountsUnitsInTheLastPlaceOfTheOutput) {
  // 1 × 1 · 1 × 1 with fp32 C: exact, so that a result k steps off is k ULP off.
  for (const auto& [type, name] : kEnumNames<OutputType>) {
    Problem problem{.op = matmul_all_gather, .ranks = 1, .m = 1, .n = 1, .k = 1};
    problem.dtype_c = type;
    const Checked checked(problem);
    std::vector<std::uint8_t> c = checked.c_of(0);
    const Verification right = checked.check(0, c);
    EXPECT_LE(right.ulp_max, 0.5) << name;
    std::uint32_t bits = 0;
    std::memcpy(&bits, c.data(), c.size());
    bits += 5;
    std::memcpy(c.data(), &bits, c.size());
    const Verification wrong = checked.check(0, c);
    EXPECT_NEAR(wrong.ulp_max, 5.0, 0.5) << name;
    EXPECT_GT(wrong.bound_ratio, 1.0) << name;
  }
}

}  // namespace
}  // namespace tandem
