// SPDX-License-Identifier: Apache-2.0
// The dictionary at the front of a .npy file:
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Reads the three entries in any order; throws Error{refused} if one is missing or anything else
// stands there. `subject` opens the message.
NpyHeader parse_npy_header(std::string_view text, const std::string& subject);

// At most 24 characters of text that nobody vouches for, printable.
std::string printable(std::string_view text);

}  // namespace tandem
