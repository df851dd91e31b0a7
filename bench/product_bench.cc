// SPDX-License-Identifier: Apache-2.0
// The tile product as the cube core calls it, beside sgemm of the libraries that are installed, on
// operands that are FP32 already: no decoding is charged to them.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "bench/bench_support.h"
#include "benchmarking/blas.h"
#include "benchmarking/limits.h"
#include "gemm/convert.h"
#include "gemm/simd/kernels.h"
#include "gemm/tile_product.h"
#include "mx/output.h"
#include "mx/quantise.h"
#include "mx/reference_product.h"

namespace tandem::bench {
namespace {

constexpr std::int64_t kTileRows = 144;  // of the host's device model
constexpr std::int64_t kTileColumns = 256;

// A, and as many B as it takes to have none in a cache.
struct Operands {
  Operands(std::int64_t m, std::int64_t n, std::int64_t k, int copies)
      : a(ElementFormat::e4m3, m, k, 1), c(static_cast<std::size_t>(m * n)) {
    for (int i = 0; i < copies; ++i) {
      b.push_back(std::make_unique<Drawn>(ElementFormat::e4m3, n, k, 2 + i));
      const MxMatrix view = b.back()->view();
      weights.push_back(std::make_unique<gemm::PackedWeights>(std::span(&view, 1)));
    }
  }
  Drawn a;
  std::vector<std::unique_ptr<Drawn>> b;
  std::vector<std::unique_ptr<gemm::PackedWeights>> weights;
  std::vector<std::uint16_t> c;
  gemm::PackedRows rows;
  std::vector<float> sums = std::vector<float>(kTileRows * kTileColumns);

  SumOrder order() const { return a.view().rows <= 8 ? SumOrder::lane : SumOrder::panel; }
};

// Tiles as a plan cuts them, rows outermost, C in bf16.
void multiply(Operands& it, int copy) {
  const MxMatrix a = it.a.view();
  const gemm::PackedWeights& weights = *it.weights[static_cast<std::size_t>(copy)];
  const std::int64_t n = weights.columns();
  for (std::int64_t row = 0; row < a.rows; row += kTileRows) {
    const MxMatrix part = a.slice_rows(row, std::min(kTileRows, a.rows - row));
    it.rows.pack({&part, 1}, it.order());
    for (std::int64_t column = 0; column < n; column += kTileColumns) {
      const std::int64_t count = std::min(kTileColumns, n - column);
      gemm::multiply(it.rows, weights, 0, column, count, it.order(), gemm::Start::from_zero,
                     {it.sums.data(), count}, {});
      for (std::int64_t i = 0; i < part.rows; ++i) {
        gemm::store_row(it.sums.data() + i * count, nullptr, count, OutputType::bf16,
                        it.c.data() + (row + i) * n + column);
      }
    }
  }
}

// A few rows of C against the scalar reference.
bool is_right(const Operands& it, int copy) {
  const MxMatrix a = it.a.view();
  const MxMatrix b = it.b[static_cast<std::size_t>(copy)]->view();
  for (const std::int64_t row : {std::int64_t{0}, a.rows / 2, a.rows - 1}) {
    std::vector<float> sums(static_cast<std::size_t>(b.rows));
    accumulate_reference(a.slice_rows(row, 1), b, it.order(), sums.data(), b.rows);
    for (std::int64_t column = 0; column < b.rows; ++column) {
      std::uint16_t want = 0;
      round_to(OutputType::bf16, sums[static_cast<std::size_t>(column)], &want);
      if (it.c[static_cast<std::size_t>(row * b.rows + column)] != want) return false;
    }
  }
  return true;
}

// The fastest of all libraries with B as [k, n] and as [n, k].
class Yardstick {
 public:
  Yardstick(const Operands& it, int copies) {
    const MxMatrix a = it.a.view();
    const std::int64_t n = it.b[0]->view().rows;
    a_.resize(static_cast<std::size_t>(a.rows * a.k));
    dequantise_rows(a, a_.data(), a.k);
    c_.resize(static_cast<std::size_t>(a.rows * n));
    for (int i = 0; i < copies; ++i) add_b(it.b[static_cast<std::size_t>(i)]->view());
    call_ = {.m = a.rows,
             .n = n,
             .k = a.k,
             .a = a_.data(),
             .a_pitch = a.k,
             .c = c_.data(),
             .c_pitch = n};
    choose();
  }

  bool exists() const { return sgemm_.call != nullptr; }
  std::string name() const { return sgemm_.name + (call_.b_is_transposed ? " NT" : " NN"); }
  void run(int copy) {
    const auto index = static_cast<std::size_t>(copy);
    call_.b = call_.b_is_transposed ? b_rows_[index].data() : b_columns_[index].data();
    sgemm_(call_);
  }

 private:
  void add_b(const MxMatrix& b) {
    std::vector<float>& rows = b_rows_.emplace_back(static_cast<std::size_t>(b.rows * b.k));
    dequantise_rows(b, rows.data(), b.k);
    std::vector<float>& columns = b_columns_.emplace_back(rows.size());
    for (std::int64_t row = 0; row < b.rows; ++row) {
      for (std::int64_t k = 0; k < b.k; ++k) {
        columns[static_cast<std::size_t>(k * b.rows + row)] =
            rows[static_cast<std::size_t>(row * b.k + k)];
      }
    }
  }

  void choose() {
    double best = std::numeric_limits<double>::infinity();
    SgemmLibrary fastest;
    bool fastest_transposed = false;
    for (const SgemmLibrary& library : sgemm_libraries(1)) {
      for (const bool transposed : {false, true}) {
        sgemm_ = library;
        set_layout(transposed);
        double seconds = std::numeric_limits<double>::infinity();
        for (std::size_t copy = 0; copy < b_rows_.size() + 1; ++copy) {
          const int index = static_cast<int>(copy % b_rows_.size());
          seconds = std::min(seconds, seconds_of([&] { run(index); }));
        }
        if (seconds >= best) continue;
        best = seconds;
        fastest = library;
        fastest_transposed = transposed;
      }
    }
    sgemm_ = fastest;
    set_layout(fastest_transposed);
  }

  void set_layout(bool transposed) {
    call_.b_is_transposed = transposed;
    call_.b_pitch = transposed ? call_.k : call_.n;
  }

  std::vector<float> a_, c_;
  std::vector<std::vector<float>> b_rows_, b_columns_;
  SgemmCall call_;
  SgemmLibrary sgemm_;
};

void time_product(benchmark::State& state, std::int64_t m, std::int64_t n, std::int64_t k,
                  int copies) {
  Operands it(m, n, k, copies);
  multiply(it, 0);
  if (!is_right(it, 0)) return state.SkipWithError("C has not the reference's bits");
  Yardstick yardstick(it, copies);
  int turn = 0;
  if (yardstick.exists()) {
    run_beside(
        state, 1, [&] { multiply(it, turn % copies); }, [&] { yardstick.run(turn++ % copies); });
    state.SetLabel(yardstick.name());
  } else {
    for (auto _ : state) state.SetIterationTime(seconds_of([&] { multiply(it, turn++ % copies); }));
    state.SetLabel("no ratio: install " + sgemm_packages());
  }
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(m * n * k),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void square(benchmark::State& state) {
  const std::int64_t size = only_checks() ? 96 : state.range(0);
  time_product(state, size, size, size, 1);
}
BENCHMARK(square)->Arg(512)->Arg(1024)->Arg(2048)->Arg(4096)->UseManualTime()->Unit(
    benchmark::kMillisecond);

// N = K = 4096, weights that no cache holds.
void few_rows(benchmark::State& state) {
  const std::int64_t size = only_checks() ? 160 : 4096;
  time_product(state, state.range(0), size, size, only_checks() ? 2 : 4);
}
BENCHMARK(few_rows)
    ->Arg(1)
    ->Arg(2)
    ->Arg(4)
    ->Arg(8)
    ->Arg(16)
    ->Arg(32)
    ->Arg(64)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// M = 1 beside a pure read of as many bytes as the codes have.
void one_row_beside_a_read(benchmark::State& state) {
  const std::int64_t size = only_checks() ? 160 : 4096;
  const int copies = only_checks() ? 2 : 4;
  Operands it(1, size, size, copies);
  multiply(it, 0);
  if (!is_right(it, 0)) return state.SkipWithError("C has not the reference's bits");
  CacheFlush memory;
  int turn = 0;
  // The flush is larger than the weights: its time is scaled to their bytes.
  const double share = static_cast<double>(size * size) / static_cast<double>(memory.bytes());
  run_beside(
      state, share, [&] { multiply(it, turn++ % copies); }, [&] { memory.run(); });
}
BENCHMARK(one_row_beside_a_read)->UseManualTime()->Unit(benchmark::kMillisecond);

// Six rows times the panels of one step, from L1, beside the peak of registers alone.
void micro_kernel(benchmark::State& state) {
  const gemm::Kernels& table = gemm::kernels();
  constexpr std::int64_t kDepth = 128;
  const int panels = table.panels_max;
  gemm::AlignedBuffer<float> rows(kDepth * gemm::kPanelRows);
  gemm::AlignedBuffer<float> columns(kDepth * gemm::kPanelColumns * panels);
  std::fill_n(rows.data(), rows.size(), 0.5f);
  std::fill_n(columns.data(), columns.size(), 2.0f);
  float sums[gemm::kPanelRows * 2 * gemm::kPanelColumns];
  const std::int64_t width = panels * gemm::kPanelColumns;
  const gemm::PanelStep step{.rows = rows.data(),
                             .columns = columns.data(),
                             .panel_stride = kDepth * gemm::kPanelColumns,
                             .panels = panels,
                             .depth = kDepth,
                             .sums = sums,
                             .pitch = width};
  table.panel_step(step);
  if (std::any_of(sums, sums + gemm::kPanelRows * width,
                  [](float sum) { return sum != static_cast<float>(kDepth); })) {
    return state.SkipWithError("a sum of 128 ones is not 128");
  }
  constexpr int kCalls = 200;
  const double flops = 2.0 * gemm::kPanelRows * static_cast<double>(width * kDepth) * kCalls;
  const double peak = measure_fma_peak();
  for (auto _ : state) {
    state.SetIterationTime(seconds_of([&] {
      for (int i = 0; i < kCalls; ++i) table.panel_step(step);
    }));
  }
  state.counters["of_peak"] =
      benchmark::Counter(flops / peak, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(micro_kernel)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tandem::bench
