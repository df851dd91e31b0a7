// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "host/link/frame.h"

namespace tandem::host {

// Where the payload of a frame goes.
struct Destination {
  enum class Kind { rows, text, nowhere, refused } kind = Kind::nowhere;
  std::byte* address = nullptr;  // rows: of the first
  std::int64_t pitch = 0;
};

// Who takes the frames of one stream.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // A header has come; its payload, if it has one, goes where this says. `refused`: the frame
  // makes no sense, and the stream ends here.
  virtual Destination place(const FrameHeader& header) = 0;
  // The whole frame has come. `text` is its payload if that was asked for.
  virtual void take(const FrameHeader& header, std::string& text) = 0;
};

// Cuts a byte stream into frames. Payloads of rows go straight to their place where they can.
class Inbox {
 public:
  explicit Inbox(FrameSink& sink) : sink_(&sink), buffer_(64 * 1024) {}

  // `receive` fills pieces and returns the bytes that came, 0: none now, less: the stream ended.
  // Returns that, or −1 after a frame that makes no sense.
  template <typename Receive>
  std::int64_t receive_with(const Receive& receive) {
    collect();
    const std::int64_t bytes = receive(pieces_);
    if (bytes > 0 && !arrived(bytes)) return -1;
    return bytes;
  }
  // The rest of a payload of rows goes nowhere: its memory may vanish.
  void let_go() {
    if (destination_.kind == Destination::Kind::rows) {
      destination_.kind = Destination::Kind::nowhere;
    }
  }

 private:
  void collect();
  bool arrived(std::int64_t bytes);
  // Takes bytes that lie in the buffer.
  bool digest(const char* data, std::int64_t bytes);
  bool start_frame();
  void end_frame();
  void copy_payload(const char* data, std::int64_t bytes);

  FrameSink* sink_;
  FrameHeader header_;
  std::int64_t header_bytes_ = 0;  // of the header that have come
  std::int64_t payload_done_ = 0;
  Destination destination_;
  std::string text_;
  std::vector<char> buffer_;
  std::vector<iovec> pieces_;
  std::int64_t direct_bytes_ = 0;  // of the payload that `pieces_` ask for in place
};

}  // namespace tandem::host
