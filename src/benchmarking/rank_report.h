// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

// What one rank says of itself at the end of a case.
struct BenchRankReport {
  int case_index = 0;   // in its world
  std::string refusal;  // why the ranks refused the case together; empty: it ran
  std::string sgemm;
  std::string failure;  // arms that don't agree
  bool pinned = false;
  int rounds = 0;
  int blocks = 0;
  double fma_peak = 0;  // its share of what its host has
  double product_peak = 0;
  double read_bandwidth = 0;
  double sleep_gflops = 0;
  std::int64_t flush_bytes = 0;
  std::vector<int> flushes;                  // by arm of the setup
  std::vector<std::vector<double>> seconds;  // [arm of the setup][launch]
  std::int64_t checked_elements = 0;
  double baseline_bound = 0;
};

// One line of JSON.
std::string to_json(const BenchRankReport& report);
BenchRankReport parse_bench_report(const std::string& json);

}  // namespace tandem
