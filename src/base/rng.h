// SPDX-License-Identifier: Apache-2.0
// SplitMix64 (Steele, Lea, Flood 2014) and values drawn from it. The same seed gives the same
// values on every compiler: integers only, the normal deviates sum uniform integers.
#pragma once

#include <cstdint>

namespace tandem {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound), bound > 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

  // Uniform in [0, 1) with 24 bits.
  float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24f; }

  // Close to the standard normal distribution: twelve 16-bit uniforms from three draws, centred
  // (Irwin-Hall). Exact integer arithmetic, so it is portable to the bit.
  float normal() {
    std::int32_t sum = 0;
    for (int draw = 0; draw < 3; ++draw) {
      const std::uint64_t bits = next();
      for (int part = 0; part < 4; ++part) {
        sum += static_cast<std::int32_t>((bits >> (16 * part)) & 0xFFFF);
      }
    }
    return static_cast<float>(sum - 6 * 65535) * 0x1p-16f;
  }

 private:
  std::uint64_t state_;
};

}  // namespace tandem
