// SPDX-License-Identifier: Apache-2.0
// The floating-point state that docs/numerics.md asks for: round to nearest even, subnormals kept,
// exceptions masked. Callers such as Python extensions may have set others.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace tandem::gemm {

// Sets the state for its lifetime and gives the caller's back. leave() and enter() do the same
// around code of the caller that runs inside.
class FloatState {
 public:
#if defined(__SSE__)
  FloatState() : caller_(_mm_getcsr()) { enter(); }
  void enter() {
    if (caller_ != kState) _mm_setcsr(kState);
    fence();
  }
  void leave() {
    fence();
    _mm_setcsr(caller_);
  }
#else
  FloatState() {
    std::fegetenv(&caller_);
    enter();
  }
  void enter() {
    std::fesetenv(FE_DFL_ENV);
    fence();
  }
  void leave() {
    fence();
    std::fesetenv(&caller_);
  }
#endif
  ~FloatState() { leave(); }
  FloatState(const FloatState&) = delete;
  FloatState& operator=(const FloatState&) = delete;

 private:
  // Keeps the compiler from moving loads and stores of operands across the change of state.
  static void fence() { asm volatile("" ::: "memory"); }

#if defined(__SSE__)
  static constexpr unsigned kState = 0x1F80;  // MXCSR: all exceptions masked, nothing else set
  unsigned caller_;
#else
  std::fenv_t caller_;
#endif
};

}  // namespace tandem::gemm
