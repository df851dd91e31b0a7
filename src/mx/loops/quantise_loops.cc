// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set (CMakeLists.txt), which names the table. Calls no function
// from a header: the linker could hand a copy with AVX2 instructions to the rest of the program.
#include "mx/loops/quantise_loops.h"

namespace tandem {
namespace {

constexpr int kGroupLength = 32;

using Word [[gnu::may_alias]] = std::uint32_t;

void largest(const float* __restrict values, std::int64_t groups, std::uint32_t* __restrict out) {
  for (std::int64_t group = 0; group < groups; ++group) {
    // A copy to an array of words would go through memory, in halves: a stall a group (GCC 12).
    const auto* bits = reinterpret_cast<const Word*>(values + group * kGroupLength);
    std::uint32_t most = 0;
    for (int i = 0; i < kGroupLength; ++i) {
      const std::uint32_t magnitude = bits[i] & 0x7FFFFFFFu;
      most = most > magnitude ? most : magnitude;
    }
    out[group] = most;
  }
}

// Both ways of rounding are computed for every element, so that no element takes a branch.
// Normal: half a step and the tie's odd bit are added, then the exponent is biased anew.
// Subnormal: adding the power of two whose last bit weighs one step rounds in the FP32 adder; its
// largest result, eight steps of E4M3 or four of E5M2, is the code of the smallest normal.
template <int kMantissaBits, int kBias, std::uint32_t kMaxFinite>
void encode(const float* __restrict values, std::int64_t groups, const float* __restrict factors,
            std::uint8_t* __restrict codes) {
  constexpr int kShift = 23 - kMantissaBits;
  constexpr std::uint32_t kMinNormal = static_cast<std::uint32_t>(128 - kBias) << 23;
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << kMantissaBits;
  constexpr std::uint32_t kStep = static_cast<std::uint32_t>(151 - kBias - kMantissaBits) << 23;
  float step;
  __builtin_memcpy(&step, &kStep, sizeof step);
  for (std::int64_t group = 0; group < groups; ++group) {
    float scaled[kGroupLength];
    std::uint32_t bits[kGroupLength];
    float shifted[kGroupLength];
    std::uint32_t tiny[kGroupLength];
    const float factor = factors[group];
    for (int i = 0; i < kGroupLength; ++i) scaled[i] = values[group * kGroupLength + i] * factor;
    __builtin_memcpy(bits, scaled, sizeof bits);
    for (int i = 0; i < kGroupLength; ++i) shifted[i] = __builtin_fabsf(scaled[i]) + step;
    __builtin_memcpy(tiny, shifted, sizeof tiny);
    for (int i = 0; i < kGroupLength; ++i) {
      const std::uint32_t magnitude = bits[i] & 0x7FFFFFFFu;
      const std::uint32_t odd = magnitude >> kShift & 1;
      const std::uint32_t normal =
          ((magnitude + ((1u << (kShift - 1)) - 1 + odd)) >> kShift) - kRebias;
      std::uint32_t code = magnitude >= kMinNormal ? normal : tiny[i] - kStep;
      code = code < kMaxFinite ? code : kMaxFinite;
      codes[group * kGroupLength + i] = static_cast<std::uint8_t>(code | (bits[i] >> 24 & 0x80u));
    }
  }
}

}  // namespace

extern const QuantiseLoops TANDEM_QUANTISE_LOOPS;
const QuantiseLoops TANDEM_QUANTISE_LOOPS = {largest, encode<3, 7, 0x7E>, encode<2, 15, 0x7B>};

}  // namespace tandem
