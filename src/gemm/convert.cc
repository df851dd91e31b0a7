// SPDX-License-Identifier: Apache-2.0
#include "gemm/convert.h"

#include "gemm/float_state.h"
#include "gemm/simd/kernels.h"

namespace tandem::gemm {

void store_row(const float* sums, const float* bias, std::int64_t count, OutputType type,
               void* destination) {
  const FloatState state;
  kernels().store_row(sums, bias, count, type, destination);
}

void add_row(const float* sums, std::int64_t count, OutputType type, void* destination) {
  const FloatState state;
  kernels().add_row(sums, count, type, destination);
}

void widen_row(const void* source, OutputType type, std::int64_t count, float* sums) {
  const FloatState state;
  kernels().widen_row(source, type, count, Start::from_zero, sums);
}

void widen_add_row(const void* source, OutputType type, std::int64_t count, float* sums) {
  const FloatState state;
  kernels().widen_row(source, type, count, Start::from_stored, sums);
}

void sum_rows(std::span<const void* const> rows, OutputType from, std::int64_t count, OutputType to,
              void* destination) {
  const FloatState state;
  kernels().sum_rows({rows, from, count, to, destination});
}

}  // namespace tandem::gemm
