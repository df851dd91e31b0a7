// SPDX-License-Identifier: Apache-2.0
// What the machine can do at best, measured beside the arms, and control over where and with which
// caches they run.
#pragma once

#include <cstdint>

#include "gemm/aligned_buffer.h"
#include "tandem/world.h"

namespace tandem {

// Memory whose reading pushes everything else out of this core's caches.
class CacheFlush {
 public:
  CacheFlush();
  // Reads all of it; returns the seconds that took.
  double run();
  std::int64_t bytes() const { return memory_.size() * 8; }
  int runs() const { return runs_; }
  // What run() read, so that no compiler leaves the reading out.
  std::uint64_t digest() const { return digest_; }

 private:
  gemm::AlignedBuffer<std::uint64_t> memory_;
  std::uint64_t digest_ = 0;
  int runs_ = 0;
};

// Bytes of the last-level cache as the kernel tells them; 32 MiB where it does not.
std::int64_t last_level_cache_bytes();

// Flop/s of fused multiply-adds in FP32 on registers, of this thread now.
double measure_fma_peak();
// Of what our products are made of: FP32 too, or pairs of BF16.
double measure_product_peak();

// Binds the threads of this process, which is rank `rank` of `ranks`, to its share of the
// processors that it may use. False where there are fewer processors than ranks.
bool pin_rank(int rank, int ranks);

}  // namespace tandem
