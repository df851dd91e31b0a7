// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "case.h"
#include "ops/operator.h"

namespace tandem::differential {

// A C of one rank, between canaries and poisoned before each run: bytes that no run leaves by
// chance and that are a finite number in every type.
class Output {
 public:
  Output(const Problem& problem, int rank);
  void poison();
  std::uint8_t* c() { return bytes_.data() + kCanaryBytes + misalignment_; }
  std::span<const std::uint8_t> view() const;
  // True unless something was written beside C.
  bool canaries_are_whole() const;

 private:
  static constexpr std::int64_t kCanaryBytes = 256;
  static constexpr std::uint8_t kPoison = 0xA5;

  std::int64_t misalignment_;  // C is aligned to its element, no more
  std::int64_t c_bytes_;
  std::vector<std::uint8_t> bytes_;
};

// Whose result is compared and how it came about, for the text of a failure.
struct Origin {
  const Case& one;
  int rank = 0;
  int rounds = 1;
  int launch = 0;
};

// Compares every element: bits, NaN equal to NaN whatever its payload. The empty string if all
// agree; otherwise the failure: operator, first differing element, count, source and round.
std::string compare(const Origin& origin, std::span<const std::uint8_t> got,
                    std::span<const std::uint8_t> want);

// Checks every element against the bound of docs/numerics.md, section 9. `reference` was made with
// wants_exact, all operands are finite. The empty string if all are within.
std::string compare_with_bound(const Origin& origin, const Reference& reference,
                               std::span<const std::uint8_t> got);

}  // namespace tandem::differential
