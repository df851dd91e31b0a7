// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "gemm/float_state.h"

namespace tandem::gemm {

// Calls `pause` about every 100 µs of work, by the caller's estimates: reading a clock between two
// steps would cost more than it is worth.
class Pacer {
 public:
  Pacer(const std::function<void()>& pause, FloatState& state) : pause_(pause), state_(state) {}

  void spend(std::int64_t nanoseconds) {
    spent_ += nanoseconds;
    if (spent_ < kInterval) return;
    spent_ = 0;
    if (!pause_) return;
    // What runs meanwhile, another fibre perhaps, has the caller's floating-point state.
    state_.leave();
    pause_();
    state_.enter();
  }

 private:
  static constexpr std::int64_t kInterval = 100'000;
  const std::function<void()>& pause_;
  FloatState& state_;
  std::int64_t spent_ = 0;
};

}  // namespace tandem::gemm
