// SPDX-License-Identifier: Apache-2.0
// Operands to try an operator with: drawn from a seed, or read from .npy files.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/operator.h"
#include "tandem/problem.h"
#include "tandem/types.h"

namespace tandem {

enum class InputKind : std::uint8_t {
  normal,    // standard normal values, quantised
  coded,     // small integers that spell their rank and row: a misplaced row shows
  upstream,  // elements uniform in [1, 8), scale bytes 127 or 128
};

template <>
inline constexpr std::array<EnumName<InputKind>, 3> kEnumNames<InputKind>{
    {{InputKind::normal, "normal"},
     {InputKind::coded, "coded"},
     {InputKind::upstream, "upstream"}}};

// What operands are drawn from. The same on every rank, machine and compiler.
struct InputOptions {
  InputKind kind = InputKind::normal;
  std::uint64_t seed = 1;
  ScaleMode scale_mode = ScaleMode::floor;
};

// Paths of .npy files with FP32, FP16 or BF16 values; empty: none. `a` and `b` hold what the ranks
// hold, in the layout of the problem and stacked along the first axis where it differs by rank:
//
// | operator              | a        | b        | bias                |
// |-----------------------|----------|----------|---------------------|
// | all-to-all-matmul     | [R·m, k] | [k, n]   | [n]                 |
// | all-gather-matmul     | [R·m, k] | [R·k, n] | [R, n] or [R·n]     |
// | matmul-all-gather     | [m, k]   | [k, n]   | [n]                 |
// | matmul-reduce-scatter | [R·m, k] | [R·k, n] | [n]                 |
//
// With trans_a or trans_b each part is transposed in its place. All-to-all cuts a along k, and
// matmul-all-gather cuts b along n. `out` receives C of all ranks stacked along the rows (of
// matmul-all-gather one C): FP16 for fp16, otherwise FP32, to which BF16 is widened.
struct OperandFiles {
  std::string a;
  std::string b;
  std::string bias;
  std::string out;
};

// Extents that somebody asked for; the others are open.
struct Extents {
  std::optional<std::int64_t> m;
  std::optional<std::int64_t> n;
  std::optional<std::int64_t> k;
};

// The problem with the extents that the files have. Throws Error{refused} if a file can't be read,
// or if the files and the `given` extents contradict each other.
Problem fit_to_files(const Problem& problem, const OperandFiles& files, const Extents& given);

// One rank's operands in the layout of the problem.
struct Operands {
  std::vector<std::uint8_t> a_codes;
  std::vector<std::uint8_t> a_scales;
  std::vector<std::uint8_t> b_codes;
  std::vector<std::uint8_t> b_scales;
  std::vector<float> bias;  // empty if the problem has none

  MxOperand a() const { return {a_codes.data(), a_scales.data()}; }
  MxOperand b() const { return {b_codes.data(), b_scales.data()}; }
  const float* bias_or_null() const { return bias.empty() ? nullptr : bias.data(); }
};

// Draws the operands of `rank`.
Operands make_operands(const Problem& problem, const InputOptions& options, int rank);

}  // namespace tandem
