// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/baseline.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "gemm/convert.h"
#include "gemm/simd/kernels.h"

namespace tandem {
namespace {

constexpr std::int64_t kAlignment = 4096;

std::int64_t padded_k(std::int64_t k) { return round_up(k, gemm::kBlock); }

// A row of MX as FP32. Writes up to a multiple of 16 elements.
void decode_row(const MxMatrix& matrix, std::int64_t row, float* values) {
  gemm::kernels().row_to_blocks({.format = matrix.format,
                                 .codes = matrix.row(row),
                                 .scales = matrix.scale_row(row),
                                 .k = matrix.k,
                                 .blocks = values,
                                 .block_stride = gemm::kBlock});
}

// Rows of A that the rank's product has, and their k.
std::int64_t product_rows(const Plan& plan) {
  const bool gathers = plan.problem.op == OperatorKind::all_gather_matmul;
  return gathers ? plan.ranks * plan.problem.m : plan.problem.m;
}

// What `rank` publishes in a launch.
std::int64_t published_bytes(const Plan& plan, int rank) {
  const Problem& problem = plan.problem;
  const std::int64_t k = plan.k_of(rank).count;
  const std::int64_t columns = plan.columns_of(rank).count;
  switch (problem.op) {
    case OperatorKind::all_to_all_matmul:
    case OperatorKind::all_gather_matmul:
      return plan.a_rows(rank) * (k + scale_row_bytes(k));
    case OperatorKind::matmul_all_gather:
      return problem.m * columns * element_bytes(problem.dtype_c);
    case OperatorKind::matmul_reduce_scatter:
      return problem.m * columns * element_bytes(problem.staging);
  }
  return 0;
}

double seconds_of(const SgemmLibrary& sgemm, const SgemmCall& call) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    sgemm(call);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count());
  }
  return best;
}

}  // namespace

Baseline::Baseline(World& world, const Plan& plan, const MxMatrix& a, const MxMatrix& b,
                   const float* bias, SpinBarrier& barrier)
    : world_(world), plan_(plan), a_(a), bias_(bias), barrier_(barrier) {
  // The bias covers all columns of C; a product may have only some of them.
  if (bias_ != nullptr) bias_ += plan.columns_of(world.rank()).first;
  // The same on all ranks, so that each finds the halves of the others, whose parts may be larger.
  for (int rank = 0; rank < plan.ranks; ++rank) {
    half_bytes_ = std::max(half_bytes_, round_up(published_bytes(plan, rank), kAlignment));
  }
  windows_ = world.impl().rank->allocate_windows(2 * half_bytes_);
  call_ = {.m = product_rows(plan), .n = b.rows, .k = b.k, .a_pitch = padded_k(b.k)};
  decoded_a_.grow(tandem::multiply({call_.m, call_.a_pitch}));
  std::fill_n(decoded_a_.data(), decoded_a_.size(), 0.0f);
  sums_.grow(tandem::multiply({call_.m, call_.n}));
  call_.a = decoded_a_.data();
  call_.c = sums_.data();
  call_.c_pitch = call_.n;
  choose_sgemm(b);
}

Baseline::~Baseline() { world_.impl().rank->free_windows(windows_); }

std::string Baseline::sgemm() const {
  return sgemm_.name + (call_.b_is_transposed ? ", B as [n, k]" : ", B as [k, n]");
}

void Baseline::choose_sgemm(const MxMatrix& b) {
  gemm::AlignedBuffer<float> rows(tandem::multiply({b.rows, padded_k(b.k)}));
  gemm::AlignedBuffer<float> columns(tandem::multiply({b.rows, b.k}));
  for (std::int64_t row = 0; row < b.rows; ++row) {
    float* values = rows.data() + row * padded_k(b.k);
    decode_row(b, row, values);
    for (std::int64_t k = 0; k < b.k; ++k) columns.data()[k * b.rows + row] = values[k];
  }
  double best = std::numeric_limits<double>::infinity();
  for (const SgemmLibrary& library : sgemm_libraries(world_.workers())) {
    for (const bool transposed : {false, true}) {
      SgemmCall call = call_;
      call.b_is_transposed = transposed;
      call.b = transposed ? rows.data() : columns.data();
      call.b_pitch = transposed ? padded_k(b.k) : b.rows;
      const double seconds = seconds_of(library, call);
      if (seconds >= best) continue;
      best = seconds;
      sgemm_ = library;
      call_.b_is_transposed = transposed;
      call_.b_pitch = call.b_pitch;
    }
  }
  decoded_b_ = std::move(call_.b_is_transposed ? rows : columns);
  call_.b = decoded_b_.data();
}

std::byte* Baseline::window(int rank) const {
  return windows_.addresses[static_cast<std::size_t>(rank)] + parity_ * half_bytes_;
}

// What `rank` published: all of its codes, then all of its scales.
MxMatrix Baseline::published_a(int rank) const {
  const std::int64_t k = plan_.k_of(rank).count;
  const std::int64_t rows = plan_.a_rows(rank);
  const auto* codes = reinterpret_cast<const std::uint8_t*>(window(rank));
  return {.format = a_.format,
          .rows = rows,
          .k = k,
          .codes = codes,
          .pitch = k,
          .scales = codes + rows * k,
          .scale_pitch = scale_row_bytes(k)};
}

void Baseline::publish_a() {
  std::byte* to = window(world_.rank());
  std::memcpy(to, a_.codes, static_cast<std::size_t>(a_.rows * a_.k));
  std::memcpy(to + a_.rows * a_.k, a_.scales, static_cast<std::size_t>(a_.rows * a_.scale_pitch));
}

void Baseline::decode(const MxMatrix& source, std::int64_t row, std::int64_t column) {
  for (std::int64_t i = 0; i < source.rows; ++i) {
    decode_row(source, i, decoded_a_.data() + (row + i) * call_.a_pitch + column);
  }
}

void Baseline::multiply() {
  if (call_.m > 0 && call_.n > 0 && call_.k > 0) {
    sgemm_(call_);
  } else {
    std::fill_n(sums_.data(), call_.m * call_.n, 0.0f);
  }
}

void Baseline::store(Slice rows, void* to, OutputType type) {
  const std::int64_t pitch = call_.n * element_bytes(type);
  for (std::int64_t i = 0; i < rows.count; ++i) {
    gemm::store_row(sums_.data() + (rows.first + i) * call_.n, bias_, call_.n, type,
                    static_cast<std::byte*>(to) + i * pitch);
  }
}

void Baseline::run(void* c) {
  switch (plan_.problem.op) {
    case OperatorKind::all_to_all_matmul:
    case OperatorKind::all_gather_matmul:
      exchange_then_product(c);
      break;
    case OperatorKind::matmul_all_gather:
      product_then_gather(c);
      break;
    case OperatorKind::matmul_reduce_scatter:
      product_then_reduce(c);
      break;
  }
  parity_ = 1 - parity_;
}

void Baseline::exchange_then_product(void* c) {
  publish_a();
  barrier_.meet(world_);
  const int self = world_.rank();
  const bool gathers = plan_.problem.op == OperatorKind::all_gather_matmul;
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    const MxMatrix source = rank == self ? a_ : published_a(rank);
    if (gathers) {
      decode(source, rank * plan_.problem.m, 0);
    } else {
      const Slice rows = plan_.rows_of(self);
      decode(source.slice_rows(rows.first, rows.count), 0, plan_.k_of(rank).first);
    }
  }
  multiply();
  store({0, call_.m}, c, plan_.problem.dtype_c);
}

void Baseline::product_then_gather(void* c) {
  decode(a_, 0, 0);
  multiply();
  const int self = world_.rank();
  const OutputType type = plan_.problem.dtype_c;
  const std::int64_t element = element_bytes(type);
  store({0, call_.m}, window(self), type);
  barrier_.meet(world_);
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    const Slice columns = plan_.columns_of(rank);
    const auto bytes = static_cast<std::size_t>(columns.count * element);
    for (std::int64_t row = 0; row < call_.m; ++row) {
      std::memcpy(static_cast<std::byte*>(c) + (row * plan_.problem.n + columns.first) * element,
                  window(rank) + row * columns.count * element, bytes);
    }
  }
}

void Baseline::product_then_reduce(void* c) {
  decode(a_, 0, 0);
  multiply();
  const int self = world_.rank();
  const OutputType type = plan_.problem.staging;
  const std::int64_t pitch = call_.n * element_bytes(type);
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    if (rank == self) continue;
    const Slice rows = plan_.rows_of(rank);
    for (std::int64_t row = rows.first; row < rows.end(); ++row) {
      gemm::store_row(sums_.data() + row * call_.n, nullptr, call_.n, type,
                      window(self) + row * pitch);
    }
  }
  barrier_.meet(world_);
  const Slice own = plan_.rows_of(self);
  for (std::int64_t row = own.first; row < own.end(); ++row) {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      if (rank == self) continue;
      gemm::widen_add_row(window(rank) + row * pitch, type, call_.n, sums_.data() + row * call_.n);
    }
  }
  store(own, c, plan_.problem.dtype_c);
}

}  // namespace tandem
