// SPDX-License-Identifier: Apache-2.0
#include "plan_json.h"

#include <nlohmann/json.hpp>

#include "plan/print_parts.h"
#include "problem_fields.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Slice& slice) { return {{"first", slice.first}, {"count", slice.count}}; }

Json to_json(const std::vector<Slice>& slices) {
  Json list = Json::array();
  for (const Slice& slice : slices) list.push_back(to_json(slice));
  return list;
}

Json to_json(const Tiling& tiling) {
  return {{"m", tiling.m},
          {"n", tiling.n},
          {"k", tiling.k},
          {"base_m", tiling.base_m},
          {"base_n", tiling.base_n},
          {"base_k", tiling.base_k},
          {"scale_k_l1", tiling.scale_k_l1},
          {"m_tail_tile", tiling.m_tail_tile},
          {"n_tail_tile", tiling.n_tail_tile},
          {"m_base_tail_split", tiling.m_base_tail_split},
          {"n_base_tail_split", tiling.n_base_tail_split},
          {"m_tail_main", tiling.m_tail_main},
          {"n_tail_main", tiling.n_tail_main},
          {"used_cores", tiling.used_cores},
          {"step_k", tiling.step_k},
          {"buffers", tiling.buffers},
          {"l0c_buffers", tiling.l0c_buffers}};
}

Json to_json(const FlagIds& ids) {
  return {{"first", ids.first}, {"modulus", ids.modulus}, {"slots", ids.slots}};
}

Json to_json(const CommPlan& comm) {
  return {{"hook", to_string(comm.hook)},     {"local", to_string(comm.local)},
          {"window", to_string(comm.window)}, {"slices", to_json(comm.slices)},
          {"chunk_rows", comm.chunk_rows},    {"row_bytes", comm.row_bytes},
          {"local_row", comm.local_row},      {"local_column", comm.local_column},
          {"local_pitch", comm.local_pitch},  {"slots", comm.slots},
          {"parts", window_parts(comm)},      {"part_bytes", comm.part_bytes},
          {"window_bytes", comm.window_bytes}};
}

std::string_view to_word(RegionRanks ranks) {
  switch (ranks) {
    case RegionRanks::own:
      return "own";
    case RegionRanks::remote:
      return "remote";
    case RegionRanks::all:
      return "all";
  }
  return "?";
}

Json problem_json(const Plan& plan) {
  Json fields;
  for (const auto& [name, value] : problem_fields(plan.problem)) fields[name] = value;
  fields["ranks"] = plan.ranks;
  fields["m"] = plan.problem.m;
  fields["n"] = plan.problem.n;
  fields["k"] = plan.problem.k;
  return fields;
}

Json ranks_json(const Plan& plan) {
  Json list = Json::array();
  for (int rank = 0; rank < plan.ranks; ++rank) {
    list.push_back({{"rank", rank},
                    {"a_rows", plan.a_rows(rank)},
                    {"k", to_json(plan.k_of(rank))},
                    {"columns", to_json(plan.columns_of(rank))},
                    {"rows", to_json(plan.rows_of(rank))},
                    {"c_rows", plan.c_rows(rank)}});
  }
  return list;
}

Json blocks_json(const Plan& plan) {
  Json jobs = Json::array();
  for (int block = 0; block < plan.blocks; ++block) {
    const int job = plan.job_of(block);
    if (job < 0) continue;
    jobs.push_back({{"block", block},
                    {"job", job},
                    {"targets", to_json(targets_of_job(plan.ranks, plan.jobs, job))}});
  }
  return {{"count", plan.blocks},
          {"communicating", plan.comm_blocks == CommBlocks::first ? "first" : "last"},
          {"jobs", jobs}};
}

Json tiles_json(const Plan& plan) {
  Json regions = Json::array();
  for (const Region& region : plan.regions) {
    regions.push_back({{"name", region.name},
                       {"round", region.round},
                       {"ranks", to_word(region.ranks)},
                       {"rows", to_json(region.rows)},
                       {"padded_rows", region.padded_rows}});
  }
  Json grids = Json::array();
  for (const Grid& grid : plan.grids) {
    Json counts = Json::array();
    for (const auto& tiles : grid.tiles) counts.push_back(tiles.size());
    grids.push_back(
        {{"rows", grid.rows}, {"columns", grid.columns}, {"tiles_of_core", std::move(counts)}});
  }
  return {{"full", to_json(plan.tiling_full)}, {"head", to_json(plan.tiling_head)},
          {"tail", to_json(plan.tiling_tail)}, {"regions", std::move(regions)},
          {"grids", std::move(grids)},         {"grid_of_region", plan.grid_of_region},
          {"grid_ranks", plan.grid_ranks}};
}

Json flags_json(const Plan& plan) {
  Json uses = Json::array();
  for (const FlagUse& use : flag_uses(plan)) {
    uses.push_back({{"name", use.name},
                    {"set_by", use.producer},
                    {"ids", to_json(use.ids)},
                    {"sets", use.sets}});
  }
  return {{"lag", plan.flags.lag}, {"uses", std::move(uses)}, {"epochs", plan.epochs}};
}

Json window_json(const Plan& plan) {
  Json regions = Json::array();
  for (const WindowRegion& region : window_regions(plan)) {
    regions.push_back({{"name", to_string(region.buffer)},
                       {"offset", region.offset},
                       {"bytes", region.bytes},
                       {"slots", region.slots},
                       {"parts", region.parts},
                       {"part_bytes", region.part_bytes}});
  }
  return {{"bytes", plan.window_bytes},
          {"scale_offset", plan.window_scale_offset},
          {"regions", std::move(regions)}};
}

Json reduction_json(const ReductionPlan& reduction) {
  Json map = Json::array();
  for (const UbBuffer& buffer : reduction.map) {
    map.push_back({{"name", buffer.name}, {"offset", buffer.offset}, {"bytes", buffer.bytes}});
  }
  return {{"cores", reduction.cores},
          {"segment_columns", reduction.segment_columns},
          {"segments", reduction.segments},
          {"batch_rows", reduction.batch_rows},
          {"source_offset", reduction.source_offset},
          {"wide_offset", reduction.wide_offset},
          {"sum_offset", reduction.sum_offset},
          {"out_offset", reduction.out_offset},
          {"map", std::move(map)},
          {"ub_bytes", reduction.ub_bytes}};
}

Json budgets_json(const Plan& plan) {
  Json list = Json::array();
  for (const Budget& budget : budgets(plan)) {
    list.push_back({{"name", budget.name}, {"bytes", budget.bytes}, {"limit", budget.limit}});
  }
  return list;
}

}  // namespace

std::string plan_to_json(const Plan& plan) {
  Json comm = Json::array();
  if (!plan.is_direct()) {
    for (const CommPlan& object : plan.comm) comm.push_back(to_json(object));
  }
  Json json{{"operator", to_string(plan.problem.op)},
            {"device", plan.device.name},
            {"problem", problem_json(plan)},
            {"order", to_string(plan.order)},
            {"stream_rows", plan.stream_rows},
            {"ranks", ranks_json(plan)},
            {"rounds", plan.rounds()},
            {"slices", to_json(plan.slices)},
            {"padded_rows", plan.padded_rows},
            {"slots", plan.slots},
            {"tiles", tiles_json(plan)},
            {"blocks", blocks_json(plan)},
            {"comm", std::move(comm)},
            {"window", window_json(plan)},
            {"staging_bytes", plan.staging_bytes},
            {"flags", flags_json(plan)}};
  if (plan.reduction.cores > 0) json["reduction"] = reduction_json(plan.reduction);
  json["budgets"] = budgets_json(plan);
  json["notes"] = plan.notes;
  json["warnings"] = plan.warnings;
  json["unsound"] = plan.unsound;
  return json.dump(2);
}

}  // namespace tandem
