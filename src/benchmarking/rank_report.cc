// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/rank_report.h"

#include <nlohmann/json.hpp>

namespace tandem {

std::string to_json(const BenchRankReport& report) {
  return nlohmann::json{{"case_index", report.case_index},
                        {"refusal", report.refusal},
                        {"sgemm", report.sgemm},
                        {"failure", report.failure},
                        {"pinned", report.pinned},
                        {"rounds", report.rounds},
                        {"blocks", report.blocks},
                        {"fma_peak", report.fma_peak},
                        {"product_peak", report.product_peak},
                        {"read_bandwidth", report.read_bandwidth},
                        {"sleep_gflops", report.sleep_gflops},
                        {"flush_bytes", report.flush_bytes},
                        {"flushes", report.flushes},
                        {"seconds", report.seconds},
                        {"checked_elements", report.checked_elements},
                        {"baseline_bound", report.baseline_bound}}
      .dump();
}

BenchRankReport parse_bench_report(const std::string& json) {
  const auto from = nlohmann::json::parse(json);
  return {.case_index = from.at("case_index"),
          .refusal = from.at("refusal"),
          .sgemm = from.at("sgemm"),
          .failure = from.at("failure"),
          .pinned = from.at("pinned"),
          .rounds = from.at("rounds"),
          .blocks = from.at("blocks"),
          .fma_peak = from.at("fma_peak"),
          .product_peak = from.at("product_peak"),
          .read_bandwidth = from.at("read_bandwidth"),
          .sleep_gflops = from.at("sleep_gflops"),
          .flush_bytes = from.at("flush_bytes"),
          .flushes = from.at("flushes"),
          .seconds = from.at("seconds"),
          .checked_elements = from.at("checked_elements"),
          .baseline_bound = from.at("baseline_bound")};
}

}  // namespace tandem
