// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem::host {

// One ordered byte stream to each peer. All calls but kick() are made by one thread, and none but
// wait() blocks.
class Streams {
 public:
  virtual ~Streams() = default;

  // Bytes taken, 0: none now, −1: the stream has ended.
  virtual std::int64_t send(int peer, std::span<const iovec> pieces) = 0;
  virtual std::int64_t receive(int peer, std::span<const iovec> pieces) = 0;
  // Why a stream ended, for people.
  virtual std::string why(int peer) = 0;
  virtual void close(int peer) = 0;

  // Sleeps until kick(), until a stream that took less than it was given takes more, until bytes
  // come, or for `limit`. Says whose streams may have bytes.
  virtual void wait(std::chrono::milliseconds limit, std::vector<int>& readable) = 0;
  // Ends the wait() that is going on, or the next one. Any thread.
  virtual void kick() = 0;
};

}  // namespace tandem::host
