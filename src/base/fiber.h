// SPDX-License-Identifier: Apache-2.0
// Stackful fibres on Boost.Context, with the annotations that the address and thread sanitizers
// need. The only file that knows Boost.Context.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace tandem {

// A function that runs on its own stack and can hand control back. Resumed by one thread at a
// time. A fibre that is destroyed before it finished is dropped, not unwound.
class Fiber {
 public:
  explicit Fiber(std::size_t stack_bytes = kStackBytes);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Prepares to run `body`, which must not throw; the stack is reused. Call only when finished().
  void start(std::function<void()> body);
  // Runs until the body suspends or returns.
  void resume();
  // Called on the fibre: back to whoever resumed it.
  void suspend();
  bool finished() const { return finished_; }

  static constexpr std::size_t kStackBytes = 256 * 1024;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  bool finished_ = true;
};

}  // namespace tandem
