// SPDX-License-Identifier: Apache-2.0
#include "simulating/texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "report/table.h"

namespace tandem {
namespace {

constexpr std::size_t kPathLines = 8;

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e6);
}

std::string headline(const SimulateContext& context, const Plan& plan) {
  const Problem& problem = plan.problem;
  std::string text =
      fmt::format("{} on {}: R {}, m {}, n {}, k {}; {} rounds, {} blocks, {} jobs\n",
                  to_string(problem.op), context.device, plan.ranks, problem.m, problem.n,
                  problem.k, plan.rounds(), plan.blocks, plan.jobs);
  for (const std::string& change : context.changes) text += "changed: " + change + "\n";
  return text;
}

std::string times_text(const SimulateContext& context, const Measurement& it) {
  const Plan& plan = *it.plan;
  const sim::RankUse& use = it.use[it.slowest()];
  const auto fastest = std::ranges::min_element(it.timeline.ranks, {}, &TimelineRank::end);
  std::string text = fmt::format("time               {} us, slowest rank {}; fastest rank {} us\n",
                                 microseconds(it.timeline.makespan), it.slowest(),
                                 microseconds(fastest->end));
  text += fmt::format("products alone     {} us\n", microseconds(it.products));
  text += fmt::format("transfers alone    {} us, with barriers and reduction\n",
                      microseconds(it.transfers));
  text += fmt::format("masking degree     {}, of {} that {} rounds in this order allow\n",
                      degree(it.masking, it.products, it.transfers),
                      degree(it.ideal_masking, it.products, it.transfers), plan.rounds());
  if (plan.ranks > 1) text += fmt::format("cannot hide        {}\n", it.ideal.exposed);
  text += fmt::format(
      "exposed            {} us of the cube cores: {} at flags of peers' data, {} after their last "
      "product\n",
      microseconds(it.exposed()), microseconds(use.waits_for_peers), microseconds(use.tail));
  text += fmt::format("costs              {} of {} are guesses\n", context.guesses, context.costs);
  return text;
}

// Sums over cores, as means: what one core of this kind does.
std::string pipes_text(const Measurement& it) {
  std::vector<std::string> columns{"core", "pipe", "busy us", "busy %"};
  const sim::RankUse& use = it.use[it.slowest()];
  std::vector<int> causes;
  for (int cause = 0; cause < kCauses; ++cause) {
    const bool occurs =
        std::ranges::any_of(use.pipes, [&](const auto& pipe) { return pipe.waits[cause] > 0; });
    if (!occurs) continue;
    causes.push_back(cause);
    columns.push_back(fmt::format("{} us", to_string(static_cast<Cause>(cause))));
  }
  TextTable table(columns);
  const double blocks = it.plan->blocks;
  const auto mean = [&](Picoseconds sum) {
    return fmt::format("{:.1f}", static_cast<double>(sum) / 1e6 / blocks);
  };
  std::vector<sim::PipeUse> pipes = use.pipes;
  std::ranges::stable_sort(pipes, std::ranges::greater{}, &sim::PipeUse::cube);
  for (const sim::PipeUse& pipe : pipes) {
    Picoseconds waited = 0;
    for (Picoseconds wait : pipe.waits) waited += wait;
    if (pipe.busy == 0 && waited == 0) continue;
    const double share = static_cast<double>(pipe.busy) / blocks /
                         static_cast<double>(std::max<Picoseconds>(it.timeline.makespan, 1));
    std::vector<std::string> row{pipe.cube ? "cube" : "vector", std::string(pipe.pipe),
                                 mean(pipe.busy), fmt::format("{:.0f}", share * 100)};
    for (int cause : causes) row.push_back(mean(pipe.waits[cause]));
    table.add_row(row);
  }
  return fmt::format("\nrank {}, mean of a core: busy, and what its pipes waited for\n",
                     it.slowest()) +
         table.to_string();
}

std::string path_text(const Measurement& it) {
  TextTable table({"us", "%", "steps", "on", "what", "site"});
  const auto shares = sim::path_shares(it.timeline, it.path);
  Picoseconds rest = 0;
  int rest_steps = 0;
  const auto percent = [&](Picoseconds time) {
    return fmt::format("{:.0f}", 100 * static_cast<double>(time) /
                                     static_cast<double>(std::max<Picoseconds>(
                                         it.timeline.makespan, 1)));
  };
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const sim::PathShare& share = shares[i];
    if (i >= kPathLines) {
      rest += share.time;
      rest_steps += share.steps;
      continue;
    }
    const bool latency = share.pipe == "latency";
    const std::string site =
        share.site.line == 0
            ? "-"
            : fmt::format("{}:{}", std::filesystem::path(share.site.file).filename().string(),
                          share.site.line);
    table.add_row({microseconds(share.time), percent(share.time), std::to_string(share.steps),
                   latency ? "latency"
                           : fmt::format("{} {}", share.cube ? "cube" : "vector", share.pipe),
                   std::string(share.what), site});
  }
  if (rest > 0) {
    const std::string steps = std::to_string(rest_steps);
    table.add_row({microseconds(rest), percent(rest), steps, "others", "", ""});
  }
  return "\ncritical path\n" + table.to_string();
}

std::string traffic_text(const Measurement& it) {
  const TimelineRank& rank = it.timeline.ranks[it.slowest()];
  return fmt::format(
      "\nrank {} moves MB: {} into the cube cores, {} of them from memory, {} out of them, {} to "
      "peers in {} transfers\n",
      it.slowest(), megabytes(rank.mte2_bytes), megabytes(rank.hbm_bytes),
      megabytes(rank.fix_bytes), megabytes(rank.sent_bytes), rank.transfers);
}

nlohmann::ordered_json measurement_json(const Measurement& it) {
  nlohmann::ordered_json json;
  json["rounds"] = it.plan->rounds();
  json["time_ps"] = it.timeline.makespan;
  json["products_ps"] = it.products;
  json["transfers_ps"] = it.transfers;
  json["masking_degree"] = it.masking;
  json["ideal_masking_degree"] = it.ideal_masking;
  json["exposed_ps"] = it.exposed();
  return json;
}

}  // namespace

std::string microseconds(Picoseconds time) {
  return fmt::format("{:.1f}", static_cast<double>(time) / 1e6);
}

std::string degree(double masking, Picoseconds products, Picoseconds transfers) {
  if (std::min(products, transfers) <= 0) return "-";
  return fmt::format("{:.2f}", masking);
}

std::string measurement_text(const SimulateContext& context, const Measurement& measurement) {
  return headline(context, *measurement.plan) + times_text(context, measurement) +
         pipes_text(measurement) + path_text(measurement) + traffic_text(measurement);
}

std::string sweep_text(const std::vector<SweepPoint>& points, std::size_t best) {
  TextTable table({"tiles", "rounds", "time us", "products us", "transfers us", "masking", "ideal",
                   "exposed us", ""});
  std::string refusals;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const SweepPoint& point = points[i];
    if (!point.measurement) {
      refusals += fmt::format("tiles {}: {}\n", point.tiles, point.refusal);
      continue;
    }
    const Measurement& it = *point.measurement;
    table.add_row({std::to_string(point.tiles), std::to_string(it.plan->rounds()),
                   microseconds(it.timeline.makespan), microseconds(it.products),
                   microseconds(it.transfers), degree(it.masking, it.products, it.transfers),
                   degree(it.ideal_masking, it.products, it.transfers),
                   microseconds(it.exposed()), i == best ? "best" : ""});
  }
  return "\ntile counts\n" + table.to_string() + refusals;
}

std::string simulation_json(const SimulateContext& context, const Measurement& measurement,
                            const std::vector<SweepPoint>& points, std::size_t best) {
  const Plan& plan = *measurement.plan;
  nlohmann::ordered_json json;
  json["operator"] = to_string(plan.problem.op);
  json["device"] = context.device;
  json["changes"] = context.changes;
  json["costs"] = context.costs;
  json["guesses"] = context.guesses;
  json["ranks"] = plan.ranks;
  json["m"] = plan.problem.m;
  json["n"] = plan.problem.n;
  json["k"] = plan.problem.k;
  json["blocks"] = plan.blocks;
  json["jobs"] = plan.jobs;
  json.update(measurement_json(measurement));
  json["cannot_hide"] = measurement.ideal.exposed;
  for (std::size_t rank = 0; rank < measurement.use.size(); ++rank) {
    const TimelineRank& totals = measurement.timeline.ranks[rank];
    nlohmann::ordered_json entry;
    entry["end_ps"] = totals.end;
    entry["waits_for_peers_ps"] = measurement.use[rank].waits_for_peers;
    entry["tail_ps"] = measurement.use[rank].tail;
    entry["mte2_bytes"] = totals.mte2_bytes;
    entry["hbm_bytes"] = totals.hbm_bytes;
    entry["fix_bytes"] = totals.fix_bytes;
    entry["sent_bytes"] = totals.sent_bytes;
    for (const sim::PipeUse& pipe : measurement.use[rank].pipes) {
      nlohmann::ordered_json waits;
      for (int cause = 0; cause < kCauses; ++cause) {
        if (pipe.waits[cause] > 0) waits[to_string(static_cast<Cause>(cause))] = pipe.waits[cause];
      }
      entry["pipes"].push_back({{"core", pipe.cube ? "cube" : "vector"},
                                {"pipe", pipe.pipe},
                                {"busy_ps", pipe.busy},
                                {"waits_ps", waits}});
    }
    json["rank"].push_back(entry);
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    nlohmann::ordered_json entry{{"tiles", points[i].tiles}};
    if (points[i].measurement) {
      entry.update(measurement_json(*points[i].measurement));
      entry["best"] = i == best;
    } else {
      entry["refused"] = points[i].refusal;
    }
    json["sweep"].push_back(entry);
  }
  return json.dump(2) + '\n';
}

}  // namespace tandem
