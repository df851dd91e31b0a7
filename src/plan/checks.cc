// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "base/checked.h"
#include "base/strings.h"
#include "plan/builder.h"

namespace tandem {
namespace {

// An option and the operators that know it; asking another one for it is a mistake.
struct OptionScope {
  std::string_view option;
  bool used;
  bool applies;
  std::string_view operators;
};

std::array<OptionScope, 10> option_scopes(const Problem& problem) {
  const Problem plain;
  const bool to_all = problem.op == OperatorKind::all_to_all_matmul;
  const bool gather = problem.op == OperatorKind::all_gather_matmul;
  const bool get = problem.op == OperatorKind::matmul_all_gather;
  const bool scatter = problem.op == OperatorKind::matmul_reduce_scatter;
  constexpr std::string_view kScatter = "matmul-reduce-scatter";
  return {{
      {"--local-matmul", problem.local_matmul != 0, to_all, "all-to-all-matmul"},
      {"--slots", problem.slots != 0, gather || get, "all-gather-matmul and matmul-all-gather"},
      {"--staging", problem.staging != plain.staging, scatter, kScatter},
      {"--cores", problem.cores != plain.cores, scatter, kScatter},
      {"--reduction", problem.reduction != plain.reduction, scatter, kScatter},
      {"--ub", problem.ub != plain.ub, scatter, kScatter},
      {"--strided", problem.strided != plain.strided, scatter, kScatter},
      {"--fence", problem.fence != plain.fence, scatter, kScatter},
      {"--transfer direct", problem.transfer != plain.transfer, !get,
       "all-to-all-matmul, all-gather-matmul and matmul-reduce-scatter"},
      {"--product", problem.product != plain.product, gather || scatter,
       "all-gather-matmul and matmul-reduce-scatter"},
  }};
}

void check_extent(PlanBuilder& builder, std::string_view name, std::int64_t value) {
  if (value < 0) {
    builder.refuse(cat(name, " is ", value), "use 0 or more");
  } else if (value > (std::int64_t{1} << 31) - 1) {
    builder.refuse(cat(name, " is ", value, ", more than 2^31 - 1"), "use a smaller extent");
  }
}

void check_counts(PlanBuilder& builder) {
  const Problem& problem = builder.problem();
  if (problem.tiles && *problem.tiles < 1) {
    builder.refuse(cat("--tiles is ", *problem.tiles), "use 1 or more");
  }
  if (problem.tile_rows && *problem.tile_rows < 1) {
    builder.refuse(cat("--tile-rows is ", *problem.tile_rows), "use 1 or more");
  }
  if (problem.slots < 0) builder.refuse(cat("--slots is ", problem.slots), "use 0 (all) or more");
  if (problem.blocks && (*problem.blocks < 1 || *problem.blocks > 256)) {
    builder.refuse(cat("--blocks is ", *problem.blocks), "use 1 to 256");
  }
  if (problem.local_matmul < 0 || problem.local_matmul > 2) {
    builder.refuse(cat("--local-matmul is ", problem.local_matmul),
                   "use 0 (fused), 1 (own part first) or 2 (deferred wait)");
  }
}

// What is wrong and leaves a plan possible, so that its rules are looked at too.
void check_choices(PlanBuilder& builder) {
  const Problem& problem = builder.problem();
  if (problem.tiles && problem.tile_rows) {
    builder.refuse(
        cat("--tiles ", *problem.tiles, " and --tile-rows ", *problem.tile_rows, " are both given"),
        "give one of them");
  }
  if (problem.staging == OutputType::fp16) {
    builder.refuse("--staging is fp16", "use bf16 or fp32");
  }
  if (problem.transfer == Transfer::direct && !builder.device().shared_workers) {
    builder.refuse(cat("--transfer direct: the cores of ", builder.device().name,
                       " read a peer's memory by transfers alone"),
                   "use copy");
  } else if (problem.transfer == Transfer::direct && builder.device().linked) {
    builder.refuse("--transfer direct: ranks that a link connects cannot read each other's memory",
                   "use copy");
  }
}

// "32 or 64": what the value should have been.
std::string nearest(std::int64_t value, std::int64_t multiple) {
  const std::int64_t below = round_down(value, multiple);
  const std::int64_t above = round_up(value, multiple);
  return below > 0 ? cat(below, " or ", above) : cat(above);
}

// The K of one product. Unequal parts are check_equal_parts' matter, where they are forbidden.
void check_k(PlanBuilder& builder) {
  const Plan& plan = builder.plan;
  const DeviceRules& rules = plan.device.rules;
  const bool split = plan.k_segments() > 1;
  std::int64_t k = plan.k_of(0).count;
  if (split && rules.equal_parts) {
    if (plan.problem.k % plan.ranks != 0) return;
    k = plan.problem.k / plan.ranks;
  }
  const std::string_view what = split ? "k per rank " : "k ";
  const bool in_groups = rules.k_multiple == 0 || k % rules.k_multiple == 0;
  if (!in_groups) {
    builder.refuse(cat(what, k, " is not a multiple of ", rules.k_multiple, " (MX group)"),
                   cat("use ", nearest(k, rules.k_multiple)));
  }
  const std::int64_t pairs = ceil_div(k, 64);
  if (rules.scale_pairs_multiple > 0 && pairs % rules.scale_pairs_multiple != 0) {
    builder.refuse(cat(what, k, " has ceil(k/64) = ", pairs, " pairs of scales, not a multiple of ",
                       rules.scale_pairs_multiple),
                   cat("use ", round_up(pairs, rules.scale_pairs_multiple) * 64));
  }
  // K is split in whole pieces of 64, so only then all ranks own as much.
  if (split && rules.equal_parts && in_groups && k % 64 != 0) {
    builder.refuse(cat(what, k, " is not a multiple of 64 (pair of scales)"),
                   cat("use ", nearest(k, 64)));
  }
}

// Elements of a row that the cube core stores: a part of n where the columns are split.
void check_stored_rows(PlanBuilder& builder) {
  const Plan& plan = builder.plan;
  const std::int64_t multiple = plan.device.rules.n_multiple;
  const bool split = plan.problem.op == OperatorKind::matmul_all_gather;
  if (multiple == 0 || (split && plan.problem.n % plan.ranks != 0)) return;
  const std::int64_t n = plan.columns_of(0).count;
  if (n % multiple == 0) return;
  builder.refuse(cat(split ? "n per rank " : "n ", n, " is not a multiple of ", multiple,
                     " (32-byte store rows)"),
                 cat("use ", nearest(n, multiple)));
}

bool sizes_fit(const Problem& problem) {
  const std::int64_t ranks = std::max(problem.ranks, 1);
  return try_multiply({ranks, problem.m, problem.k}) && try_multiply({problem.k, problem.n, 4}) &&
         try_multiply({ranks, problem.m, problem.n, 8});
}

}  // namespace

void PlanBuilder::refuse(const std::string& observation, const std::string& remedy) {
  reasons.push_back(
      cat(to_string(problem().op), " on ", device().name, ": ", observation, "; ", remedy));
}

bool check_ranges(PlanBuilder& builder) {
  const Problem& problem = builder.problem();
  const int ranks_max = builder.device().rules.ranks_max;
  if (problem.ranks < 1 || problem.ranks > ranks_max) {
    builder.refuse(cat("R is ", problem.ranks), cat("use 1 to ", ranks_max, " ranks"));
  }
  check_extent(builder, "m", problem.m);
  check_extent(builder, "n", problem.n);
  check_extent(builder, "k", problem.k);
  check_counts(builder);
  const bool in_range = builder.reasons.empty();
  check_choices(builder);
  for (const OptionScope& scope : option_scopes(problem)) {
    if (scope.used && !scope.applies) {
      builder.refuse(cat(scope.option, " applies to ", scope.operators, " only"), "leave it out");
    }
  }
  if (in_range && !sizes_fit(problem)) {
    builder.refuse(cat("R ", problem.ranks, ", m ", problem.m, ", n ", problem.n, ", k ", problem.k,
                       ": an operand exceeds 2^63 - 1 bytes"),
                   "use a smaller shape");
    return false;
  }
  return in_range;
}

void check_device(PlanBuilder& builder) {
  const Problem& problem = builder.problem();
  const DeviceRules& rules = builder.device().rules;
  if (!rules.empty_allowed) {
    for (auto [name, extent] : {std::pair<std::string_view, std::int64_t>{"m", problem.m},
                                {"n", problem.n},
                                {"k", problem.k}}) {
      if (extent == 0) builder.refuse(cat(name, " is 0"), "use 1 or more");
    }
  }
  check_k(builder);
  check_stored_rows(builder);
  if (problem.ranks > rules.fragments_max && problem.op != OperatorKind::matmul_all_gather &&
      problem.op != OperatorKind::all_to_all_matmul) {
    builder.refuse(
        cat("R ", problem.ranks, " exceeds the ", rules.fragments_max, " fragments of one operand"),
        cat("use at most ", rules.fragments_max, " ranks"));
  }
}

void check_equal_parts(PlanBuilder& builder, std::string_view name, std::int64_t extent) {
  const int ranks = builder.problem().ranks;
  if (!builder.device().rules.equal_parts || extent % ranks == 0) return;
  builder.refuse(cat(name, " ", extent, " does not divide over ", ranks, " ranks"),
                 cat("use ", nearest(extent, ranks)));
}

}  // namespace tandem
