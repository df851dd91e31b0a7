// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string_view>

#include "bench/bench_support.h"
#include "benchmarking/statistics.h"

namespace tandem::bench {
namespace {

bool checks_only = false;

// A benchmark whose answer is wrong makes the program fail.
class Reporter : public benchmark::ConsoleReporter {
 public:
  Reporter() : ConsoleReporter(OO_Tabular) {}
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) failed_ |= run.error_occurred;
    ConsoleReporter::ReportRuns(runs);
  }
  bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

}  // namespace

bool only_checks() { return checks_only; }

Drawn::Drawn(ElementFormat format, std::int64_t rows, std::int64_t k, std::uint64_t seed)
    : codes_(static_cast<std::size_t>(rows * k)),
      scales_(static_cast<std::size_t>(rows * scale_row_bytes(k))),
      view_{format, rows, k, codes_.data(), k, scales_.data(), scale_row_bytes(k)} {
  Rng rng(seed);
  // Eight codes a draw; the upper exponents are left out, with them NaN and infinity.
  for (std::size_t i = 0; i < codes_.size(); i += 8) {
    const std::uint64_t bits = rng.next() & 0xBFBFBFBFBFBFBFBFu;
    std::memcpy(codes_.data() + i, &bits, std::min<std::size_t>(8, codes_.size() - i));
  }
  for (std::uint8_t& scale : scales_) scale = static_cast<std::uint8_t>(124 + rng.below(6));
}

std::vector<float> draw_values(std::int64_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = rng.normal();
  return values;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run_beside(benchmark::State& state, double scale, const std::function<void()>& ours,
                const std::function<void()>& yardstick) {
  std::vector<double> ratios;
  for (auto _ : state) {
    const double own = seconds_of(ours);
    ratios.push_back(scale * seconds_of(yardstick) / own);
    state.SetIterationTime(own);
  }
  const BenchSpread spread = spread_of(std::move(ratios));
  state.counters["ratio"] = spread.median;
  state.counters["ratio_10"] = spread.low;
  state.counters["ratio_90"] = spread.high;
}

}  // namespace tandem::bench

int main(int argc, char** argv) {
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--once") {
      tandem::bench::checks_only = true;
    } else {
      argv[kept++] = argv[i];
    }
  }
  benchmark::Initialize(&kept, argv);
  if (benchmark::ReportUnrecognizedArguments(kept, argv)) return 2;
  tandem::bench::Reporter reporter;
  const std::size_t run = benchmark::RunSpecifiedBenchmarks(&reporter);
  return reporter.failed() || run == 0 ? 1 : 0;
}
