// SPDX-License-Identifier: Apache-2.0
// What things cost on a device, in time: docs/machine-time.md. A rate of 0 is no limit, a time of
// 0 costs nothing. mb_s is 10⁶ bytes a second.
#pragma once

#include <cstdint>

namespace tandem {

// Shared workers: a weight that is packed for panel order, BF16.
inline constexpr std::int64_t kPackedWeightBytes = 2;

struct DeviceCosts {
  // Matrix unit of one cube core: one step takes cube_m × cube_n × cube_k products.
  std::int64_t clock_mhz = 0;
  std::int64_t cube_m = 0;
  std::int64_t cube_n = 0;
  std::int64_t cube_k = 0;
  std::int64_t steps_per_kcycle = 0;  // matrix steps in 1000 cycles
  std::int64_t product_start_ns = 0;  // filling and emptying the unit, once a product
  std::int64_t rows_start_ns = 0;     // shared workers: decoding rows of A, per 1024 elements
  std::int64_t rows_cold_ns = 0;      // and more where a launch reads them for the first time
  // Shared workers, products of few rows, in lane order: codes of B are read once for each eight
  // rows, and multiplied for each row.
  std::int64_t lane_mb_s = 0;
  std::int64_t lane_products_us = 0;
  // Pipes of one core.
  std::int64_t mte1_mb_s = 0;
  std::int64_t mte2_mb_s = 0;
  std::int64_t mte3_mb_s = 0;
  std::int64_t fix_mb_s = 0;
  std::int64_t move_start_ns = 0;    // of each MTE or FIX operation
  std::int64_t vector_elements = 0;  // FP32 elements per cycle and instruction of a vector core
  std::int64_t vector_start_ns = 0;  // of each vector operation
  std::int64_t accumulate_elements_us = 0;  // shared workers, in place of vector_elements
  std::int64_t convert_elements_us = 0;
  // Memory of a rank, shared by its cores and by transfers.
  std::int64_t hbm_mb_s = 0;
  std::int64_t l2_mb_s = 0;
  std::int64_t l2_bytes = 0;
  // Between ranks, per direction.
  std::int64_t link_mb_s = 0;    // of one pair
  std::int64_t egress_mb_s = 0;  // of one rank to all its peers
  std::int64_t ingress_mb_s = 0;
  std::int64_t core_send_mb_s = 0;  // of all transfers that one core has posted
  std::int64_t link_latency_ns = 0;
  std::int64_t drain_ns = 0;  // from the last completion until drain returns
  // Synchronisation: from what sets it until it can be seen.
  std::int64_t flag_ns = 0;
  std::int64_t event_ns = 0;
  std::int64_t sync_all_ns = 0;
  std::int64_t epoch_ns = 0;      // to a peer
  std::int64_t epoch_own_ns = 0;  // to the own rank
  std::int64_t launch_ns = 0;
  // Scalar stream.
  std::int64_t call_ns = 0;        // each verb
  std::int64_t post_ns = 0;        // each transfer
  std::int64_t parameters_ns = 0;  // each set of product parameters
  std::int64_t fragments_ns = 0;   // each list of fragments
  // Shared workers.
  std::int64_t processors = 0;  // of all ranks together; 0: one for each worker
  std::int64_t pause_ns = 0;    // a product lets others run after so long; 0: never
};

// Calls visit(name, field) for each cost, in the order of the struct.
template <typename Costs, typename Visitor>
void visit_costs(Costs& costs, Visitor&& visit) {
  visit("clock_mhz", costs.clock_mhz);
  visit("cube_m", costs.cube_m);
  visit("cube_n", costs.cube_n);
  visit("cube_k", costs.cube_k);
  visit("steps_per_kcycle", costs.steps_per_kcycle);
  visit("product_start_ns", costs.product_start_ns);
  visit("rows_start_ns", costs.rows_start_ns);
  visit("rows_cold_ns", costs.rows_cold_ns);
  visit("lane_mb_s", costs.lane_mb_s);
  visit("lane_products_us", costs.lane_products_us);
  visit("mte1_mb_s", costs.mte1_mb_s);
  visit("mte2_mb_s", costs.mte2_mb_s);
  visit("mte3_mb_s", costs.mte3_mb_s);
  visit("fix_mb_s", costs.fix_mb_s);
  visit("move_start_ns", costs.move_start_ns);
  visit("vector_elements", costs.vector_elements);
  visit("vector_start_ns", costs.vector_start_ns);
  visit("accumulate_elements_us", costs.accumulate_elements_us);
  visit("convert_elements_us", costs.convert_elements_us);
  visit("hbm_mb_s", costs.hbm_mb_s);
  visit("l2_mb_s", costs.l2_mb_s);
  visit("l2_bytes", costs.l2_bytes);
  visit("link_mb_s", costs.link_mb_s);
  visit("egress_mb_s", costs.egress_mb_s);
  visit("ingress_mb_s", costs.ingress_mb_s);
  visit("core_send_mb_s", costs.core_send_mb_s);
  visit("link_latency_ns", costs.link_latency_ns);
  visit("drain_ns", costs.drain_ns);
  visit("flag_ns", costs.flag_ns);
  visit("event_ns", costs.event_ns);
  visit("sync_all_ns", costs.sync_all_ns);
  visit("epoch_ns", costs.epoch_ns);
  visit("epoch_own_ns", costs.epoch_own_ns);
  visit("launch_ns", costs.launch_ns);
  visit("call_ns", costs.call_ns);
  visit("post_ns", costs.post_ns);
  visit("parameters_ns", costs.parameters_ns);
  visit("fragments_ns", costs.fragments_ns);
  visit("processors", costs.processors);
  visit("pause_ns", costs.pause_ns);
}

}  // namespace tandem
