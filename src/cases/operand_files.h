// SPDX-License-Identifier: Apache-2.0
// Operands and results in .npy files; the table at OperandFiles says what they hold.
#pragma once

#include <memory>
#include <span>

#include "cases/inputs.h"

namespace tandem {

// Reads the files that are given, once for all ranks; what is not given is drawn. Throws
// Error{refused} with everything that does not fit the problem.
std::unique_ptr<OperandSource> make_operand_source(const Problem& problem,
                                                   const InputOptions& options,
                                                   const OperandFiles& files);

// Rows of C in `out`, and the first of them that `rank` writes.
std::int64_t result_rows(const Problem& problem);
std::int64_t result_first_row(const Problem& problem, int rank);

// Writes C of all ranks: result_rows(problem) × n elements of dtype_c.
void write_result(const std::string& path, const Problem& problem, std::span<const std::uint8_t> c);

}  // namespace tandem
