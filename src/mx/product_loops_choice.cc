// SPDX-License-Identifier: Apache-2.0
#include "mx/product_loops.h"

namespace tandem {

extern const ProductLoops kBaselineLoops;
#ifdef TANDEM_HAS_AVX2_LOOPS
extern const ProductLoops kAvx2Loops;
#endif

const ProductLoops& baseline_loops() { return kBaselineLoops; }

const ProductLoops* avx2_loops() {
#ifdef TANDEM_HAS_AVX2_LOOPS
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &kAvx2Loops;
#endif
  return nullptr;
}

const ProductLoops& best_loops() {
  const ProductLoops* loops = avx2_loops();
  return loops != nullptr ? *loops : baseline_loops();
}

}  // namespace tandem
