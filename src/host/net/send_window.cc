// SPDX-License-Identifier: Apache-2.0
#include "host/net/send_window.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

namespace tandem::host {
namespace {

using Microseconds = std::chrono::duration<double, std::micro>;
using std::chrono::milliseconds;

// Half of what a sender without bounds may find tolerable is wanted, so that the bound does not
// swing: a round of 256 KiB at 100 Mbit/s takes 21 ms.
constexpr double kQueueMaxUs = 8000;
constexpr double kQueueWantedUs = 4000;
// Long enough to tell a rate, too short for a queue of 20 ms to overflow.
constexpr milliseconds kSampleTime{10};
// Samples further apart have a pause between them.
constexpr milliseconds kSampleTimeMax{30};
// A fifth of a second: the smoothed round trip has forgotten what was sent without a bound.
constexpr int kFutileMax = 20;
constexpr std::int64_t kLimitMin = 32 * 1024;
constexpr std::int64_t kLimitMax = 8 << 20;

}  // namespace

void SendWindow::update(const PathSample& sample) {
  if (gave_up_) return;
  const double queue_us = sample.round_trip_us - sample.shortest_us;
  if (queue_us > kQueueMaxUs) {
    // Who shares the link with others that fill its queue gets nothing by stepping back.
    if (bounded() && ++futile_ > kFutileMax) {
      gave_up_ = true;
      limit_ = kUnbounded;
      return;
    }
    const double wanted = sample.bytes_per_us * (sample.shortest_us + kQueueWantedUs);
    limit_ = std::min(limit_, std::max(kLimitMin, static_cast<std::int64_t>(wanted)));
    return;
  }
  futile_ = 0;
  if (queue_us > kQueueWantedUs / 2 || !bounded() || !was_held_) return;
  limit_ = limit_ < kLimitMax ? 2 * limit_ : kUnbounded;
}

void SendWindow::look(const Socket& socket, Clock::time_point now) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (getsockopt(socket.file(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return;
  const std::uint64_t before = acknowledged_;
  const auto time = now - looked_;
  acknowledged_ = info.tcpi_bytes_acked;
  looked_ = now;
  if (time <= kSampleTimeMax && acknowledged_ > before) {
    update(
        {.round_trip_us = static_cast<double>(info.tcpi_rtt),
         .shortest_us = static_cast<double>(info.tcpi_min_rtt),
         .bytes_per_us = static_cast<double>(acknowledged_ - before) / Microseconds(time).count()});
  }
  was_held_ = false;
}

std::int64_t SendWindow::room(const Socket& socket, Clock::time_point now) {
  if (now - looked_ >= kSampleTime) look(socket, now);
  if (!bounded()) return kUnbounded;
  int queued = 0;  // not yet acknowledged
  if (ioctl(socket.file(), SIOCOUTQ, &queued) != 0) return kUnbounded;
  // Pieces of less cost a call each.
  const std::int64_t room = limit_ - queued;
  if (room >= limit_ / 8) return room;
  was_held_ = true;
  return 0;
}

}  // namespace tandem::host
