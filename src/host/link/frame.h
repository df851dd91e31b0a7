// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other over a byte stream: a header of fixed size, then its payload.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::host {

enum class FrameType : std::uint32_t {
  // Memory. Frames of one stream take effect in the order they were posted.
  write,      // payload: rows for a window
  fill,       // a 32-bit value for a window
  reduce,     // payload: rows to add onto a window
  read,       // asks for rows of a window
  read_data,  // payload: a part of them
  fetch_add,  // adds to a 64-bit word of a window
  fetched,    // what it held
  word,       // stores a barrier word
  flush,      // asks for `flushed` when all before it has taken effect
  flushed,
  // The world.
  meeting,    // payload: a text; the sender has reached a meeting
  abort,      // payload: why; the sender has failed
  goodbye,    // the sender has ended, its stream may end too
  farewell,   // the answer to it
  note,       // payload: a text for who listens to notes
  heartbeat,  // the sender is alive
};

// Rows of a rank's window memory, by their place in all that it reserved.
struct RemoteRows {
  std::int64_t offset = 0;
  std::int64_t rows = 0;
  std::int64_t row_bytes = 0;
  std::int64_t pitch = 0;

  std::int64_t end() const { return rows == 0 ? offset : offset + (rows - 1) * pitch + row_bytes; }
};

struct FrameHeader {
  FrameType type = FrameType::heartbeat;
  // Of a barrier word; element type of a reduction; kind of a note; meeting: 1 if it has a text.
  std::uint32_t kind = 0;
  RemoteRows rows;          // read_data: offset is the first column, see `value`
  std::uint64_t id = 0;     // of an answer; index of a barrier word; number of a meeting
  std::uint64_t value = 0;  // of a word; read_data: the first row; world frames: meetings completed
  std::uint64_t payload_bytes = 0;
};
static_assert(sizeof(FrameHeader) == 64);

// Payloads of memory frames are cut at this size, so that a short frame never waits for long and a
// cancelled one is copied quickly. 256 KiB hold a word up by 2 ms at 1 Gbit/s, for each of the
// places on its way; 64 KiB cost a third of the bandwidth between neighbours.
inline constexpr std::int64_t kPayloadBytesMax = 128 * 1024;
inline constexpr std::int64_t kPayloadRowsMax = 512;
inline constexpr std::uint64_t kTextPayloadBytesMax = 1 << 20;

constexpr bool is_memory_frame(FrameType type) { return type < FrameType::meeting; }

}  // namespace tandem::host
