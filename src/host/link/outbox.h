// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "host/link/frame.h"

namespace tandem::host {

// What is still to be sent to one peer. Any thread posts; the communication thread sends. The
// rank's own frames go in order, and so do its answers to the peer (rows that were read, flushes
// that are done), but neither waits for the other: requests behind rows that the peer has asked for
// would let only one direction of a link work at a time.
class Outbox {
 public:
  // A frame whose payload, if any, is the text.
  void post(const FrameHeader& header, std::string text = {});
  // Frames of memory rows at `from`, `pitch` bytes apart, cut to size. The memory stays as it is
  // until they are sent or dropped.
  void post_rows(FrameHeader header, const std::byte* from, std::int64_t pitch);

  // How many frames about the peer's memory were posted.
  std::uint64_t memory_requests() const;
  bool empty() const;
  // Whether something was posted since the last send_with() began.
  bool has_posted() const;
  // Fills `pieces` with the next bytes to be sent, holding off drop_memory(); `send` takes them
  // and returns how many bytes went. Returns what `send` returned, 0 if there is nothing.
  template <typename Send>
  std::int64_t send_with(const Send& send) {
    const std::lock_guard guard(send_mutex_);
    collect();
    if (pieces_.empty()) return 0;
    const std::int64_t bytes = send(pieces_);
    if (bytes > 0) advance(bytes);
    return bytes;
  }
  // Forgets all frames that concern memory; one that is half sent is finished from a copy. From
  // now on none of the memory that was posted is read, and no memory frame is taken any more.
  void drop_memory();

 private:
  struct Frame {
    FrameHeader header;
    std::string text;
    const std::byte* from = nullptr;  // rows: first byte, in place of the text
    std::int64_t pitch = 0;

    std::int64_t bytes() const {
      return static_cast<std::int64_t>(sizeof header + header.payload_bytes);
    }
  };
  void push(Frame frame);
  bool take_next();
  void collect();
  void collect_from(const Frame& frame, std::int64_t skip);
  void advance(std::int64_t bytes);

  mutable std::mutex post_mutex_;
  std::deque<Frame> own_;
  std::deque<Frame> answers_;
  bool answer_is_next_ = false;  // of two long ones
  bool has_posted_ = false;
  bool memory_dropped_ = false;
  std::uint64_t memory_requests_ = 0;

  mutable std::mutex send_mutex_;
  std::deque<Frame> sending_;
  std::int64_t sending_bytes_ = 0;
  std::int64_t sent_of_first_ = 0;
  std::vector<iovec> pieces_;
};

}  // namespace tandem::host
