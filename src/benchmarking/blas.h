// SPDX-License-Identifier: Apache-2.0
// sgemm of the libraries that a user would take, found at run time: the build needs none of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

// C = A · B in FP32, row-major. A is m × k, B is k × n, or n × k where `b_is_transposed`.
struct SgemmCall {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const float* a = nullptr;
  std::int64_t a_pitch = 0;  // elements between rows
  const float* b = nullptr;
  std::int64_t b_pitch = 0;
  bool b_is_transposed = false;
  float* c = nullptr;
  std::int64_t c_pitch = 0;
};

struct SgemmLibrary {
  std::string name;
  void (*call)(void* function, const SgemmCall& call) = nullptr;
  void* function = nullptr;

  void operator()(const SgemmCall& arguments) const { call(function, arguments); }
};

// Those that are installed, loaded into this process with `threads` threads each. A library stays
// loaded, and the first call decides how many threads it has.
const std::vector<SgemmLibrary>& sgemm_libraries(int threads);

// "libopenblas0-pthread, libblis4-pthread or libdnnl2": what to install.
std::string sgemm_packages();

}  // namespace tandem
