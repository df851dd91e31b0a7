// SPDX-License-Identifier: Apache-2.0
#include "simulating/ideal.h"

#include <algorithm>
#include <vector>

namespace tandem {
namespace {

// A stretch of products: its share of them all, and the round whose data it needs; −1: none.
struct Stretch {
  double share = 0;
  int round = -1;
};

double rows_of(const Plan& plan, const Region& region) {
  const int ranks = region.ranks == RegionRanks::own      ? 1
                    : region.ranks == RegionRanks::remote ? plan.ranks - 1
                                                          : plan.ranks;
  return static_cast<double>(region.rows.count) * ranks;
}

std::vector<Stretch> stretches_of(const Plan& plan) {
  double total = 0;
  for (const Region& region : plan.regions) total += rows_of(plan, region);
  std::vector<Stretch> stretches;
  const bool own_part = plan.problem.op == OperatorKind::all_to_all_matmul;
  const int local = own_part ? plan.problem.local_matmul : 0;
  const double own = 1.0 / plan.ranks;  // of the K of all-to-all
  if (local == 1) stretches.push_back({own, -1});
  for (const Region& region : plan.regions) {
    const double share = total > 0 ? rows_of(plan, region) / total : 0;
    if (local == 2) stretches.push_back({share * own, -1});
    stretches.push_back({local == 0 ? share : share * (1 - own), region.round});
  }
  return stretches;
}

std::vector<double> round_shares(const Plan& plan) {
  double total = 0;
  for (const Slice& slice : plan.slices) total += static_cast<double>(slice.count);
  std::vector<double> shares;
  for (const Slice& slice : plan.slices) {
    shares.push_back(total > 0 ? static_cast<double>(slice.count) / total : 0);
  }
  return shares;
}

bool compute_first(OperatorKind op) {
  return op == OperatorKind::matmul_all_gather || op == OperatorKind::matmul_reduce_scatter;
}

// Transfers first: a stretch waits for its round.
double transfers_first(const Plan& plan, double products, double transfers) {
  const std::vector<double> shares = round_shares(plan);
  std::vector<double> arrived;
  double time = 0;
  for (double share : shares) arrived.push_back(time += share * transfers);
  double end = 0;
  for (const Stretch& stretch : stretches_of(plan)) {
    if (stretch.round >= 0) end = std::max(end, arrived[stretch.round]);
    end += stretch.share * products;
  }
  return std::max(end, time);
}

// Products first: a round leaves when it is computed; in reduce-scatter with separate roles
// already when the rows of the others are.
double products_first(const Plan& plan, double products, double transfers) {
  const bool early = plan.problem.op == OperatorKind::matmul_reduce_scatter &&
                     plan.problem.cores == CoreMapping::separate;
  const double needed = early ? 1 - 1.0 / plan.ranks : 1;
  const std::vector<double> shares = round_shares(plan);
  double computed = 0;
  double sent = 0;
  for (double share : shares) {
    const double ready = computed + share * products * needed;
    computed += share * products;
    sent = std::max(sent, ready) + share * transfers;
  }
  return std::max(sent, computed);
}

}  // namespace

Ideal ideal_of(const Plan& plan, Picoseconds products, Picoseconds transfers) {
  Ideal ideal;
  const auto comp = static_cast<double>(products);
  const auto comm = static_cast<double>(transfers);
  if (compute_first(plan.problem.op)) {
    ideal.time = static_cast<Picoseconds>(products_first(plan, comp, comm));
    ideal.exposed = plan.problem.op == OperatorKind::matmul_reduce_scatter
                        ? "the first round's product, the last round's transfer and reduction"
                        : "the first round's product, the last round's transfer";
  } else {
    ideal.time = static_cast<Picoseconds>(transfers_first(plan, comp, comm));
    const std::vector<Stretch> stretches = stretches_of(plan);
    const bool head = !stretches.empty() && stretches[0].round < 0;
    ideal.exposed = head ? "what the first round's transfer takes beyond the own part's product, "
                           "the last round's product"
                         : "the first round's transfer, the last round's product";
  }
  return ideal;
}

double masking_degree(Picoseconds products, Picoseconds transfers, Picoseconds fused) {
  const Picoseconds shorter = std::min(products, transfers);
  if (shorter <= 0) return 0;
  return static_cast<double>(products + transfers - fused) / static_cast<double>(shorter);
}

}  // namespace tandem
