// SPDX-License-Identifier: Apache-2.0
// What a machine is told of a launch: how many blocks, which buffers and how large, what to run.
// It knows no operator and no plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/view.h"
#include "machine/core.h"
#include "tandem/types.h"

namespace tandem {

// The extent of one buffer on one rank. Windows are allocated by the machine, the rest is bound,
// unless it lies in the window.
struct BufferExtent {
  std::int64_t bytes = 0;
  std::int64_t window_offset = 0;      // of buffers in the window, inside the rank's window
  OutputType type = OutputType::bf16;  // of C, staging and windows that hold products
  bool in_window = false;              // an operand or staging that peers read in place
};

using BufferExtents = std::array<BufferExtent, kBufferCount>;

// True for memory of a rank that its peers reach too.
inline bool is_in_window(const BufferExtents& extents, Buffer buffer) {
  return buffer == Buffer::window_data || buffer == Buffer::window_scale ||
         extents[static_cast<std::size_t>(buffer)].in_window;
}

struct Numerics {
  ElementFormat dtype_a = ElementFormat::e4m3;
  ElementFormat dtype_b = ElementFormat::e4m3;
  SumOrder order = SumOrder::panel;
};

struct Launch {
  int blocks = 0;
  Numerics numerics;
  BufferExtents extents;           // of this rank
  std::int64_t ub_bytes = 0;       // unified buffer of one vector core
  std::int64_t tile_rows_max = 0;  // largest tile of a product
  std::int64_t tile_columns_max = 0;
  std::uint64_t epochs = 0;  // epoch values 1 … epochs are used in each slot
  std::function<void(CubeCore&)> cube;
  std::function<void(VectorCore&)> vector;
};

}  // namespace tandem
