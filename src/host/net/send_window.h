// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "host/futex.h"
#include "host/net/socket.h"

namespace tandem::host {

// What a connection's path does to what is sent.
struct PathSample {
  double round_trip_us = 0;  // now, with what waits in queues on the way
  double shortest_us = 0;    // the path's own
  double bytes_per_us = 0;   // that came through, while there was always something to send
};

// How much one TCP connection may have on its way. The kernel's own choice fills the queues of a
// slow link until one overflows: tens of milliseconds which no word can overtake, and more after
// each overflow. So what waits on the way is held to a few milliseconds of what comes through. A
// path without a queue, however long or fast, is left to the kernel.
class SendWindow {
 public:
  // Bytes that may be handed over now. 0: ask again in a moment.
  std::int64_t room(const Socket& socket, Clock::time_point now);
  // What room() does with each sample.
  void update(const PathSample& sample);
  bool bounded() const { return limit_ < kUnbounded; }
  std::int64_t limit() const { return limit_; }

 private:
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

  void look(const Socket& socket, Clock::time_point now);

  std::int64_t limit_ = kUnbounded;
  int futile_ = 0;         // samples in a row with a long queue although bounded
  bool gave_up_ = false;   // the queue is another's
  bool was_held_ = false;  // since the last sample
  Clock::time_point looked_{};
  std::uint64_t acknowledged_ = 0;
};

}  // namespace tandem::host
