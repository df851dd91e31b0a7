// SPDX-License-Identifier: Apache-2.0
// The inner loops of quantising, for whole groups of 32. Compiled like product_loops.h: once for
// the build's baseline and once for AVX2, with the same bits.
#pragma once

#include <cstdint>

namespace tandem {

struct QuantiseLoops {
  // largest[g] = the largest magnitude of group g as FP32 bits; infinity and NaN order above all.
  void (*largest)(const float* values, std::int64_t groups, std::uint32_t* largest);
  // codes[i] = values[i] · factors[group of i], rounded to nearest even and saturated. The
  // products are finite.
  void (*encode_e4m3)(const float* values, std::int64_t groups, const float* factors,
                      std::uint8_t* codes);
  void (*encode_e5m2)(const float* values, std::int64_t groups, const float* factors,
                      std::uint8_t* codes);
};

const QuantiseLoops& baseline_quantise_loops();
// Null where the build or this machine has no AVX2.
const QuantiseLoops* avx2_quantise_loops();
const QuantiseLoops& best_quantise_loops();

}  // namespace tandem
