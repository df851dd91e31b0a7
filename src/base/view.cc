// SPDX-License-Identifier: Apache-2.0
#include "base/view.h"

#include "base/strings.h"

namespace tandem {

std::string to_string(const View& view) {
  std::string text = cat(to_string(view.buffer), "[", view.rank, "]@", view.offset, "+", view.rows,
                         "x", view.row_bytes);
  if (view.rows > 1 && view.pitch != view.row_bytes) text += cat("/", view.pitch);
  return text;
}

}  // namespace tandem
