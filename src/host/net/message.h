// SPDX-License-Identifier: Apache-2.0
// What members say to each other before they have a link.
#pragma once

#include <cstdint>
#include <string>

#include "host/net/socket.h"

namespace tandem::host {

// Opens a message between members; says what talks and which layout it speaks.
inline constexpr char kMagic[8] = {'T', 'A', 'N', 'D', 'E', 'M', 2, '\n'};

inline constexpr std::uint32_t kMessageBytesMax = 1 << 20;
struct MessageHead {
  char magic[sizeof kMagic];
  std::uint32_t bytes;
};

// A message: kMagic, a length, a text. False: the deadline passed or the other end is no member.
bool send_message(const Socket& socket, const std::string& text, Clock::time_point deadline);
bool receive_message(const Socket& socket, std::string& text, Clock::time_point deadline);

}  // namespace tandem::host
