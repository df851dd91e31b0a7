// SPDX-License-Identifier: Apache-2.0
// What a user would write today, written well: weights dequantised to FP32 once, activations moved
// as FP8 through shared memory, dequantised in each launch, the best sgemm at hand, FP32 sums,
// results rounded. Each rank publishes its bytes once and peers read them in place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarking/blas.h"
#include "benchmarking/spin_barrier.h"
#include "gemm/aligned_buffer.h"
#include "host/host_rank.h"
#include "mx/matrix.h"
#include "plan/plan.h"
#include "tandem/world.h"

namespace tandem {

class Baseline {
 public:
  // Collective. `a` and `bias` are kept, `b` (columns as rows) is not.
  Baseline(World& world, const Plan& plan, const MxMatrix& a, const MxMatrix& b, const float* bias,
           SpinBarrier& barrier);
  ~Baseline();
  Baseline(const Baseline&) = delete;
  Baseline& operator=(const Baseline&) = delete;

  void run(void* c);
  // "OpenBLAS, B as [n, k]"
  std::string sgemm() const;

 private:
  // Times each library with B as [k, n] and as [n, k], and keeps the fastest.
  void choose_sgemm(const MxMatrix& b);
  std::byte* window(int rank) const;
  MxMatrix published_a(int rank) const;
  void publish_a();
  void decode(const MxMatrix& source, std::int64_t row, std::int64_t column);
  void multiply();
  void store(Slice rows, void* to, OutputType type);

  void exchange_then_product(void* c);
  void product_then_gather(void* c);
  void product_then_reduce(void* c);

  World& world_;
  const Plan& plan_;
  MxMatrix a_;
  const float* bias_;
  SpinBarrier& barrier_;
  host::Windows windows_;
  std::int64_t half_bytes_ = 0;  // launches alternate between two halves: one barrier is enough
  int parity_ = 0;
  SgemmLibrary sgemm_;
  SgemmCall call_;
  gemm::AlignedBuffer<float> decoded_a_, decoded_b_, sums_;
};

}  // namespace tandem
