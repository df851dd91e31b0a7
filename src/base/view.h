// SPDX-License-Identifier: Apache-2.0
// How kernels name memory: a buffer of a rank and a pitched range in it, never a pointer. The
// machine that runs the kernel turns a view into an address, or into a shadow range.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem {

enum class Buffer : std::uint8_t {
  a,             // left operand, canonical: one row of codes per row
  a_scale,       // its scales, 2·ceil(K/64) bytes a row
  bias,          // FP32, one per column of C
  c,             // output
  staging,       // own product, source of puts, or read by peers where it lies
  window_data,   // peers may write and read it
  window_scale,  // the same for scales
};
inline constexpr int kBufferCount = 7;

constexpr std::string_view to_string(Buffer buffer) {
  switch (buffer) {
    case Buffer::a:
      return "a";
    case Buffer::a_scale:
      return "a-scale";
    case Buffer::bias:
      return "bias";
    case Buffer::c:
      return "c";
    case Buffer::staging:
      return "staging";
    case Buffer::window_data:
      return "window-data";
    case Buffer::window_scale:
      return "window-scale";
  }
  return "?";
}

// `rows` rows of `row_bytes` bytes, `pitch` bytes apart, from byte `offset` of a rank's buffer.
struct View {
  int rank = 0;
  Buffer buffer = Buffer::a;
  std::int64_t offset = 0;
  std::int64_t rows = 0;
  std::int64_t row_bytes = 0;
  std::int64_t pitch = 0;

  std::int64_t bytes() const { return rows * row_bytes; }
  // First byte behind the view, relative to the buffer.
  std::int64_t end() const { return rows == 0 ? offset : offset + (rows - 1) * pitch + row_bytes; }
  // The rows [first, first + count) of this view.
  View slice_rows(std::int64_t first, std::int64_t count) const {
    View part = *this;
    part.offset += first * pitch;
    part.rows = count;
    return part;
  }
  // The bytes [first, first + count) of each row.
  View slice_columns(std::int64_t first, std::int64_t count) const {
    View part = *this;
    part.offset += first;
    part.row_bytes = count;
    return part;
  }

  friend bool operator==(const View&, const View&) = default;
};

// "c[2]@4096+3x128/512": buffer, rank, offset, rows × bytes, pitch.
std::string to_string(const View& view);

// A part of an axis.
struct Slice {
  std::int64_t first = 0;
  std::int64_t count = 0;

  constexpr std::int64_t end() const { return first + count; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

}  // namespace tandem
