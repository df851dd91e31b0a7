// SPDX-License-Identifier: Apache-2.0
// Element conversion in rows, vectorised: FP32 sums to C, and the vector core's reduction. Bits
// equal mx/'s scalar codecs.
#pragma once

#include <cstdint>
#include <span>

#include "tandem/types.h"

namespace tandem::gemm {

// destination[j] = round(sums[j] + bias[j]); `bias` may be null.
void store_row(const float* sums, const float* bias, std::int64_t count, OutputType type,
               void* destination);

// destination[j] = round_type(destination[j] + round_type(sums[j])): how a stored partial result
// takes the rest in its own type.
void add_row(const float* sums, std::int64_t count, OutputType type, void* destination);

// sums[j] = source[j], or sums[j] += source[j].
void widen_row(const void* source, OutputType type, std::int64_t count, float* sums);
void widen_add_row(const void* source, OutputType type, std::int64_t count, float* sums);

// destination[j] = round(rows[0][j] + rows[1][j] + …), summed in FP32 in this order, in one pass.
// At least one row.
void sum_rows(std::span<const void* const> rows, OutputType from, std::int64_t count, OutputType to,
              void* destination);

}  // namespace tandem::gemm
