// SPDX-License-Identifier: Apache-2.0
// The tile product behind the cube core: MX rows of A times packed columns of B, to the bit equal
// to mx/reference_product.h for every shape, SIMD target and blocking.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mx/matrix.h"

namespace tandem::gemm {

// B [K, N] packed once per operator, per K segment: a canonical copy of the codes for lane order
// and for the exact path, and panels with the scales applied for panel order, in BF16, or in FP32
// where BF16 would round one of them. Immutable, shared by all workers.
class PackedWeights {
 public:
  // One MxMatrix per K segment, all with the same count of rows (= columns of B) and one format.
  // Made for lane order, they have no panels, a third of the memory, and serve no other.
  explicit PackedWeights(std::span<const MxMatrix> segments, SumOrder order = SumOrder::panel);
  ~PackedWeights();
  PackedWeights(PackedWeights&&) noexcept;
  PackedWeights& operator=(PackedWeights&&) noexcept;

  std::int64_t columns() const;
  int segments() const;
  std::int64_t bytes() const;  // memory held

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// The rows of A of one tile, brought to the form the micro-kernel reads. Reused between tiles so
// that it allocates only when a tile is larger than any before.
class PackedRows {
 public:
  PackedRows();
  ~PackedRows();
  // Packs the rows of the parts, in order; all parts have one k and one format.
  void pack(std::span<const MxMatrix> parts, SumOrder order);
  std::int64_t rows() const;

  struct Impl;
  Impl& impl() const { return *impl_; }  // a product may add another form of the same rows

 private:
  std::unique_ptr<Impl> impl_;
};

// Accumulators of a tile: rows × columns FP32, `pitch` elements apart.
struct Accumulators {
  float* values = nullptr;
  std::int64_t pitch = 0;
};

enum class Start { from_zero, from_stored };

// accumulators (+)= rows · columns [first, first + count) of one K segment. `pause` is called
// about every 100 µs of work, between two steps: a worker yields there.
void multiply(const PackedRows& rows, const PackedWeights& weights, int segment, std::int64_t first,
              std::int64_t count, SumOrder order, Start start, Accumulators accumulators,
              const std::function<void()>& pause);

// The SIMD targets this machine can run, best first, and a way to force one (tests; empty: best).
std::vector<const char*> simd_targets();
void force_simd_target(const char* name);

}  // namespace tandem::gemm
