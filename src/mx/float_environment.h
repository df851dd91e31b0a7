// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>

namespace tandem {

// Round to nearest even with subnormals kept, for the life of the object: callers may have set
// another mode, or flush-to-zero, which would change bits. Arithmetic on operands that are loaded
// from memory after the construction is ordered behind it; arithmetic on locals may not be.
class FloatEnvironment {
 public:
  FloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() { std::fesetenv(&saved_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace tandem
