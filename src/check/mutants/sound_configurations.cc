// SPDX-License-Identifier: Apache-2.0
#include "check/mutants/sound_configurations.h"

#include "base/rng.h"
#include "base/strings.h"
#include "tandem/error.h"

namespace tandem::check {
namespace {

template <typename E>
E draw_word(Rng& rng) {
  return kEnumNames<E>[rng.below(kEnumNames<E>.size())].first;
}

int draw(Rng& rng, int first, int last) {
  return first + static_cast<int>(rng.below(static_cast<std::uint64_t>(last - first + 1)));
}

bool one_in(Rng& rng, int count) { return rng.below(static_cast<std::uint64_t>(count)) == 0; }

void draw_host_shape(Rng& rng, Problem& problem) {
  problem.m = draw(rng, 0, 40);
  problem.n = one_in(rng, 3) ? draw(rng, 257, 700) : draw(rng, 1, 70);
  problem.k = draw(rng, 0, 200);
  if (problem.op == OperatorKind::matmul_reduce_scatter) problem.m *= problem.ranks;
  // Several row blocks of tiles.
  if (one_in(rng, 6)) problem.m += 300;
}

void draw_device_shape(Rng& rng, Problem& problem) {
  problem.m = 16 * draw(rng, 1, 20);
  problem.n = 16 * draw(rng, 1, 24) * problem.ranks;
  problem.k = 128 * draw(rng, 1, 2);
  if (problem.op == OperatorKind::matmul_reduce_scatter) problem.m *= problem.ranks;
  if (problem.op == OperatorKind::all_to_all_matmul) problem.k *= problem.ranks;
  problem.tail = draw_word<TailStrategy>(rng);
}

// Only what the operator knows: others are refused.
void draw_variants(Rng& rng, Problem& problem) {
  problem.flags = draw_word<FlagNumbering>(rng);
  problem.dtype_c = draw_word<OutputType>(rng);
  problem.bias = one_in(rng, 3);
  const int local = draw(rng, 0, 2);
  const int slots = draw(rng, 0, 4);
  const auto product = draw_word<ProductForm>(rng);
  const auto cores = draw_word<CoreMapping>(rng);
  const auto reduction = draw_word<ReductionForm>(rng);
  const auto ub = draw_word<UbManagement>(rng);
  const auto strided = draw_word<StridedCopy>(rng);
  const auto fence = draw_word<FenceJobs>(rng);
  const bool direct = one_in(rng, 4) && problem.op != OperatorKind::matmul_all_gather;
  if (direct) problem.transfer = Transfer::direct;
  switch (problem.op) {
    case OperatorKind::all_to_all_matmul:
      problem.local_matmul = local;
      break;
    case OperatorKind::all_gather_matmul:
      problem.slots = slots;
      problem.product = product;
      break;
    case OperatorKind::matmul_all_gather:
      problem.slots = slots;
      break;
    case OperatorKind::matmul_reduce_scatter:
      problem.product = product;
      problem.cores = cores;
      problem.reduction = reduction;
      problem.ub = ub;
      problem.strided = strided;
      problem.fence = fence;
      if (one_in(rng, 3)) problem.staging = OutputType::fp32;
      break;
  }
}

}  // namespace

std::string describe(const Configuration& config) {
  const Problem& p = config.problem;
  std::string text = cat(to_string(p.op), " -R ", p.ranks, " -m ", p.m, " -n ", p.n, " -k ", p.k);
  if (p.tiles) text += cat(" --tiles ", *p.tiles);
  if (p.tile_rows) text += cat(" --tile-rows ", *p.tile_rows);
  if (p.blocks) text += cat(" --blocks ", *p.blocks);
  text +=
      cat(" --slots ", p.slots, " --local-matmul ", p.local_matmul, " --tail ", to_string(p.tail),
          " --flags ", to_string(p.flags), " --cores ", to_string(p.cores), " --product ",
          to_string(p.product), " --reduction ", to_string(p.reduction), " --ub ", to_string(p.ub),
          " --strided ", to_string(p.strided), " --barrier ", to_string(p.barrier), " --fence ",
          to_string(p.fence), " --dtype-c ", to_string(p.dtype_c), " --staging ",
          to_string(p.staging), " --transfer ", to_string(p.transfer), p.bias ? " --bias" : "",
          " --device ", config.device_name, " --launches ", config.launch_count);
  const sim::Profile& profile = config.profile;
  text += cat(", queues of ", profile.queue_depth);
  if (!profile.serial_v) text += ", V overlaps";
  if (!profile.drain_is_remote) text += ", drain is local";
  if (profile.gate_blocks_all) text += ", gates stop all";
  if (config.straggler) text += cat(", rank ", *config.straggler, " straggles");
  return text;
}

Configuration draw_configuration(std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed * 0x9E3779B97F4A7C15u + index);
  Configuration config;
  Problem& problem = config.problem;
  problem.op = draw_word<OperatorKind>(rng);
  problem.ranks = draw(rng, 1, 6);
  const bool device = one_in(rng, 5);
  if (device) config.device_name = "ascend950pr";
  device ? draw_device_shape(rng, problem) : draw_host_shape(rng, problem);
  const int blocks = draw(rng, 1, 4);
  problem.blocks = device ? problem.ranks + blocks : blocks;
  // Beyond 14 rounds producers wait for releases, and ids by round come round.
  problem.tiles = one_in(rng, 6) ? draw(rng, 14, 20) : draw(rng, 1, 5);
  draw_variants(rng, problem);
  config.launch_count = draw(rng, 1, 3);
  constexpr int kDepths[] = {1, 2, 32};
  config.profile.queue_depth = kDepths[draw(rng, 0, 2)];
  if (one_in(rng, 4)) config.straggler = draw(rng, 0, problem.ranks - 1);
  return config;
}

SoundReport run_sound_configurations(const Makers& makers, std::uint64_t seed, int count,
                                     const std::function<void(int)>& progress) {
  SoundReport report;
  for (std::uint64_t index = 0; report.run < count; ++index) {
    const Configuration config = draw_configuration(seed, index);
    BuiltProgram built;
    try {
      built = build(makers, config, nullptr);
    } catch (const Error&) {
      ++report.refused;
      continue;
    }
    const RunReport run = run_configuration(config, built);
    ++report.run;
    report.ops += run.ops;
    if (run.confluent()) ++report.confluent;
    if (!run.findings.empty() || !run.finished) {
      report.alarms.push_back(cat(describe(config), "\n  ", to_text(run.findings.front())));
    }
    if (progress) progress(report.run);
  }
  return report;
}

}  // namespace tandem::check
