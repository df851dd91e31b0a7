// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tandem {
namespace {

std::string& reproduce_storage() {
  static std::string line;
  return line;
}

}  // namespace

void set_reproduce_line(const std::string& line) { reproduce_storage() = line; }

const std::string& reproduce_line() { return reproduce_storage(); }

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, message.c_str());
  if (!reproduce_line().empty()) {
    std::fprintf(stderr, "reproduce: %s\n", reproduce_line().c_str());
  }
  std::abort();
}

}  // namespace tandem
