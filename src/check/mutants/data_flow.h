// SPDX-License-Identifier: Apache-2.0
// What a run computes, without computing it: every byte holds a number made of the operations and
// the bytes that it comes from. Two runs with equal numbers in C give equal results for all inputs.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "sim/machine.h"
#include "sim/observer.h"

namespace tandem::check {

class DataFlow final : public sim::Observer {
 public:
  explicit DataFlow(const sim::Program& program) : program_(program) {}
  // Of C of all ranks after all launches.
  std::uint64_t outcome() const { return outcome_; }

  void launch_begins(int rank, int launch) override;
  void launch_ends(int rank, int launch) override;
  void begin(sim::Op& op) override;

 private:
  // Byte b of [first, end) holds constant + slope · b, modulo 2^64.
  struct Piece {
    std::int64_t end = 0;
    std::uint64_t constant = 0;
    std::uint64_t slope = 0;
  };
  struct Memory {
    std::uint64_t constant = 0;  // what nobody has written
    std::uint64_t slope = 0;
    std::map<std::int64_t, Piece> pieces;  // by first byte, disjoint
  };
  enum class Write { replace, add };

  Memory& memory(const sim::Object& object);
  static void split(Memory& memory, std::int64_t at);
  std::uint64_t read(Memory& memory, std::int64_t first, std::int64_t end);
  void write(Memory& memory, std::int64_t first, std::int64_t end, std::uint64_t value, Write how);
  std::uint64_t value_of(const sim::Op& op);

  const sim::Program& program_;
  std::map<std::tuple<int, int, int>, Memory> memories_;
  std::map<int, std::deque<std::uint64_t>> staged_;  // by core: operands on their way to M
  std::uint64_t outcome_ = 0;
};

}  // namespace tandem::check
