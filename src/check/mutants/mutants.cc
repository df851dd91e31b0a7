// SPDX-License-Identifier: Apache-2.0
#include "check/mutants/mutants.h"

#include <algorithm>

namespace tandem::check {
namespace {

Configuration small(OperatorKind op, int ranks, int blocks, int tiles) {
  Configuration config;
  config.problem.op = op;
  config.problem.ranks = ranks;
  config.problem.blocks = blocks;
  config.problem.tiles = tiles;
  return config;
}

constexpr std::int64_t kRows = 4;       // of a slice
constexpr std::int64_t kColumns = 512;  // two tiles of the host's base block
constexpr std::int64_t kGroup = 64;     // one pair of scales

Mutants collect() {
  Mutants all = joined({flag_mutants(), barrier_mutants(), transfer_mutants(), pipe_mutants(),
                        memory_mutants(), shape_mutants(), launch_mutants(), lent_mutants(),
                        inexpressible(), controls()});
  std::ranges::stable_sort(all, {}, [](const Mutant& mutant) { return mutant.id; });
  return all;
}

}  // namespace

Configuration Configuration::shape(std::int64_t m, std::int64_t n, std::int64_t k) const {
  Configuration copy = *this;
  copy.problem.m = m;
  copy.problem.n = n;
  copy.problem.k = k;
  return copy;
}

Configuration Configuration::slots(int count) const {
  return with([count](Problem& changed) { changed.slots = count; });
}

Configuration Configuration::launches(int count) const {
  Configuration copy = *this;
  copy.launch_count = count;
  return copy;
}

Configuration Configuration::on_device(std::string_view name) const {
  Configuration copy = *this;
  copy.device_name = name;
  return copy;
}

Configuration Configuration::with(const std::function<void(Problem&)>& change) const {
  Configuration copy = *this;
  change(copy.problem);
  return copy;
}

Configuration to_all(int ranks, int blocks, int tiles) {
  return small(OperatorKind::all_to_all_matmul, ranks, blocks, tiles)
      .shape(kRows * tiles, kColumns, kGroup * ranks);
}

Configuration gather(int ranks, int blocks, int tiles) {
  return small(OperatorKind::all_gather_matmul, ranks, blocks, tiles)
      .shape(kRows * tiles, kColumns, kGroup);
}

Configuration get_ring(int ranks, int blocks, int tiles, int slots) {
  return small(OperatorKind::matmul_all_gather, ranks, blocks, tiles)
      .shape(kRows * tiles, kColumns * ranks, kGroup)
      .slots(slots);
}

Configuration scatter(int ranks, int blocks, int tiles) {
  return small(OperatorKind::matmul_reduce_scatter, ranks, blocks, tiles)
      .shape(kRows * tiles * ranks, kColumns, kGroup);
}

Configuration scatter_shared(int ranks, int blocks, int tiles) {
  return scatter(ranks, blocks, tiles).with([](Problem& problem) {
    problem.cores = CoreMapping::shared;
  });
}

Mutants joined(const std::vector<Mutants>& tables) {
  Mutants all;
  for (const Mutants& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

const Mutants& all_mutants() {
  static const Mutants kAll = collect();
  return kAll;
}

std::string_view to_string(Mutant::Kind kind) {
  switch (kind) {
    case Mutant::Kind::error:
      return "error";
    case Mutant::Kind::refusal:
      return "refusal";
    case Mutant::Kind::control:
      return "control";
    case Mutant::Kind::not_expressible:
      return "not expressible";
  }
  return "?";
}

const std::vector<UpstreamError>& upstream_errors() {
  static const std::vector<UpstreamError> kErrors = {
      {"upstream:A1", "one arrival word for all jobs", "B08"},
      {"upstream:A2", "barrier and transfers map jobs to peers differently", "B21"},
      {"upstream:A3", "jobs meet once per target", "B22"},
      {"upstream:A4", "fewer blocks than ranks", "B18"},
      {"upstream:A5", "a slot is read before all cube cores have filled it", "A15/get"},
      {"upstream:A6", "a mask of 32 rounds", "A18"},
      {"upstream:A7", "flag ids number the rounds without end", "A08"},
      {"upstream:A8", "an early return leaves flags behind", "A26"},
      {"upstream:A9", "the last reads are not drained", "C02/get"},
      {"upstream:B2", "a tile waits for its first row's round", "A20"},
      {"upstream:B4", "scales travel without padding", "G06"},
  };
  return kErrors;
}

const Mutant* find_mutant(std::string_view name) {
  for (const UpstreamError& error : upstream_errors()) {
    if (error.name == name) name = error.mutant;
  }
  const auto found = std::ranges::find(all_mutants(), name, &Mutant::id);
  return found == all_mutants().end() ? nullptr : &*found;
}

}  // namespace tandem::check
