// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/limits.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gemm/float_state.h"
#include "gemm/simd/kernels.h"

namespace tandem {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::int64_t last_level_cache_bytes() {
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    std::int64_t size = 0;
    char unit = 0;
    if (!(file >> size >> unit)) continue;
    largest = std::max(largest, size << (unit == 'M' ? 20 : 10));
  }
  return largest > 0 ? largest : std::int64_t{32} << 20;
}

// Half as much again as the cache: a share of it survives a read of exactly its size.
CacheFlush::CacheFlush() : memory_(last_level_cache_bytes() * 3 / 2 / 8) {
  // Distinct pages: untouched memory would all be the one page of zeros.
  for (std::int64_t i = 0; i < memory_.size(); ++i) {
    memory_.data()[i] = static_cast<std::uint64_t>(i);
  }
}

double CacheFlush::run() {
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t* words = memory_.data();
  std::uint64_t sums[8] = {};
  for (std::int64_t i = 0; i + 8 <= memory_.size(); i += 8) {
    for (int lane = 0; lane < 8; ++lane) sums[lane] += words[i + lane];
  }
  for (const std::uint64_t sum : sums) digest_ += sum;
  ++runs_;
  return seconds_since(start);
}

namespace {

double measure_peak(std::int64_t (*chains)(std::int64_t steps)) {
  const gemm::FloatState state;
  double best = 0;
  for (int turn = 0; turn < 12; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    const double flops = static_cast<double>(chains(40'000));
    best = std::max(best, flops / seconds_since(start));
  }
  return best;
}

}  // namespace

double measure_fma_peak() { return measure_peak(gemm::kernels().multiply_add_chains); }

double measure_product_peak() {
  const gemm::Kernels& table = gemm::kernels();
  return measure_peak(table.multiplies_pairs ? table.pair_chains : table.multiply_add_chains);
}

bool pin_rank(int rank, int ranks) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return false;
  std::vector<int> processors;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &usable)) processors.push_back(cpu);
  }
  const int share = static_cast<int>(processors.size()) / ranks;
  if (share == 0) return false;
  cpu_set_t own;
  CPU_ZERO(&own);
  for (int i = 0; i < share; ++i)
    CPU_SET(processors[static_cast<std::size_t>(rank * share + i)], &own);
  bool pinned = true;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const int thread = std::atoi(task.path().filename().c_str());
    pinned = sched_setaffinity(thread, sizeof own, &own) == 0 && pinned;
  }
  return pinned;
}

}  // namespace tandem
