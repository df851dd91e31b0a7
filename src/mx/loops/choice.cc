// SPDX-License-Identifier: Apache-2.0
#include "mx/loops/product_loops.h"
#include "mx/loops/quantise_loops.h"

namespace tandem {

extern const ProductLoops kBaselineLoops;
extern const QuantiseLoops kBaselineQuantiseLoops;
#ifdef TANDEM_HAS_AVX2_LOOPS
extern const ProductLoops kAvx2Loops;
extern const QuantiseLoops kAvx2QuantiseLoops;
#endif

namespace {

#ifdef TANDEM_HAS_AVX2_LOOPS
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

}  // namespace

const ProductLoops& baseline_loops() { return kBaselineLoops; }

const ProductLoops* avx2_loops() {
#ifdef TANDEM_HAS_AVX2_LOOPS
  if (has_avx2()) return &kAvx2Loops;
#endif
  return nullptr;
}

const ProductLoops& best_loops() {
  const ProductLoops* loops = avx2_loops();
  return loops != nullptr ? *loops : baseline_loops();
}

const QuantiseLoops& baseline_quantise_loops() { return kBaselineQuantiseLoops; }

const QuantiseLoops* avx2_quantise_loops() {
#ifdef TANDEM_HAS_AVX2_LOOPS
  if (has_avx2()) return &kAvx2QuantiseLoops;
#endif
  return nullptr;
}

const QuantiseLoops& best_quantise_loops() {
  const QuantiseLoops* loops = avx2_quantise_loops();
  return loops != nullptr ? *loops : baseline_quantise_loops();
}

}  // namespace tandem
