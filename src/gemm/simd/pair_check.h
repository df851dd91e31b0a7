// SPDX-License-Identifier: Apache-2.0
// Whether this machine's products of pairs are what pair_products_inl.h takes them for.
#pragma once

#include "gemm/simd/kernels.h"

namespace tandem::gemm {

// The processor and the system have the instruction.
bool has_pair_products();

// Random pairs and special values through table.panel_step give the bits of fused multiply-adds,
// the first of a pair first. A processor that summed otherwise would give wrong bits only now and
// then.
bool pairs_sum_in_order(const Kernels& table);

}  // namespace tandem::gemm
