// SPDX-License-Identifier: Apache-2.0
#include "mx/quantise.h"

#include <algorithm>
#include <bit>

#include "mx/e8m0.h"
#include "mx/float_environment.h"
#include "mx/formats.h"
#include "mx/loops/quantise_loops.h"
#include "mx/small_float.h"

namespace tandem {
namespace {

constexpr std::uint32_t kMantissaOf1p75 = 0x00600000u;  // both formats end at 1.75 · 2^emax

std::uint32_t magnitude_bits(float value) {
  return std::bit_cast<std::uint32_t>(value) & ~kFp32Sign;
}

// Unbounded exponent of the scale, biased by 127. Integers only: a quotient max_finite / amax
// overflows for small amax, and log2 rounds.
int scale_exponent(std::uint32_t amax_bits, const FormatTraits& format, ScaleMode mode) {
  switch (mode) {
    case ScaleMode::floor:
      break;
    case ScaleMode::rceil: {
      const int exponent = static_cast<int>(amax_bits >> 23) - format.emax;
      // The other users of this mode form amax · (1 / max_finite) in FP32. At the smallest scale
      // that product is subnormal, a bit shorter, and one unit above 1.75 rounds down to it.
      const std::uint32_t threshold = kMantissaOf1p75 + (exponent == 0 ? 1 : 0);
      return exponent + ((amax_bits & 0x007FFFFFu) > threshold ? 1 : 0);
    }
    case ScaleMode::even:
      // Half a unit in the last place of the element; a carry raises the exponent.
      amax_bits += 1u << (22 - format.mantissa_bits);
      break;
  }
  return static_cast<int>(amax_bits >> 23) - format.emax;
}

std::uint8_t scale_of(std::uint32_t amax_bits, const FormatTraits& format, ScaleMode mode) {
  if (amax_bits >= kFp32Infinity) return kScaleNan;
  return static_cast<std::uint8_t>(std::clamp(scale_exponent(amax_bits, format, mode), 0, 254));
}

void quantise_group(const float* values, std::int64_t count, const FormatTraits& format,
                    ScaleMode mode, std::uint8_t* codes, std::uint8_t* scale) {
  // Magnitudes order like their bits, infinity and NaN above everything finite.
  std::uint32_t amax_bits = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    amax_bits = std::max(amax_bits, magnitude_bits(values[k]));
  }
  *scale = scale_of(amax_bits, format, mode);
  if (*scale == kScaleNan) {
    std::fill_n(codes, count, format.nan_code);
    return;
  }
  // Exact wherever it matters: what falls below 2^-126 here encodes to zero.
  const float factor = reciprocal_e8m0(*scale);
  for (std::int64_t k = 0; k < count; ++k) {
    codes[k] = format.encode(values[k] * factor, Saturation::saturate);
  }
}

// Whole groups, a few at a time: their values are read a second time from the nearest cache.
void quantise_groups(const float* values, std::int64_t groups, const FormatTraits& format,
                     ScaleMode mode, std::uint8_t* codes, std::uint8_t* scales) {
  constexpr std::int64_t kGroupsMax = 64;
  const QuantiseLoops& loops = best_quantise_loops();
  const auto encode = format.format == ElementFormat::e4m3 ? loops.encode_e4m3 : loops.encode_e5m2;
  std::uint32_t largest[kGroupsMax];
  float factors[kGroupsMax];
  for (std::int64_t first = 0; first < groups; first += kGroupsMax) {
    const std::int64_t count = std::min(kGroupsMax, groups - first);
    const float* part = values + first * kGroup;
    loops.largest(part, count, largest);
    for (std::int64_t group = 0; group < count; ++group) {
      scales[first + group] = scale_of(largest[group], format, mode);
      // Exact wherever it matters: what falls below 2^-126 here encodes to zero.
      factors[group] = reciprocal_e8m0(scales[first + group]);
    }
    encode(part, count, factors, codes + first * kGroup);
    for (std::int64_t group = 0; group < count; ++group) {
      if (scales[first + group] != kScaleNan) continue;
      std::fill_n(codes + (first + group) * kGroup, kGroup, format.nan_code);
    }
  }
}

}  // namespace

std::uint8_t choose_scale(float amax, ElementFormat format, ScaleMode mode) {
  return scale_of(magnitude_bits(amax), format_traits(format), mode);
}

void quantise_rows(const float* values, std::int64_t rows, std::int64_t k, std::int64_t pitch,
                   ElementFormat format, ScaleMode mode, std::uint8_t* codes,
                   std::int64_t code_pitch, std::uint8_t* scales, std::int64_t scale_pitch) {
  const FloatEnvironment environment;
  const FormatTraits& traits = format_traits(format);
  const std::int64_t groups = ceil_div(k, kGroup);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::uint8_t* row_scales = scales + row * scale_pitch;
    const float* row_values = values + row * pitch;
    std::uint8_t* row_codes = codes + row * code_pitch;
    const std::int64_t whole = k / kGroup;
    quantise_groups(row_values, whole, traits, mode, row_codes, row_scales);
    if (whole < groups) {
      const std::int64_t first = whole * kGroup;
      quantise_group(row_values + first, k - first, traits, mode, row_codes + first,
                     row_scales + whole);
    }
    if (groups % 2 != 0) row_scales[groups] = 0;
  }
}

void dequantise_rows(const MxMatrix& matrix, float* values, std::int64_t pitch) {
  const FloatEnvironment environment;
  const FormatTraits& traits = format_traits(matrix.format);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::uint8_t* codes = matrix.row(row);
    const std::uint8_t* scales = matrix.scale_row(row);
    for (std::int64_t first = 0; first < matrix.k; first += kGroup) {
      const float scale = decode_e8m0(scales[first / kGroup]);
      const std::int64_t end = std::min(first + kGroup, matrix.k);
      for (std::int64_t k = first; k < end; ++k) {
        values[row * pitch + k] = traits.values[codes[k]] * scale;
      }
    }
  }
}

}  // namespace tandem
