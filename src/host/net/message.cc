// SPDX-License-Identifier: Apache-2.0
#include "host/net/message.h"

#include <cstring>

namespace tandem::host {

bool send_message(const Socket& socket, const std::string& text, Clock::time_point deadline) {
  MessageHead head{{}, static_cast<std::uint32_t>(text.size())};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes += text;
  return write_all(socket, bytes.data(), bytes.size(), deadline);
}

bool receive_message(const Socket& socket, std::string& text, Clock::time_point deadline) {
  MessageHead head{};
  if (!read_all(socket, &head, sizeof head, deadline)) return false;
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0) return false;
  if (head.bytes > kMessageBytesMax) return false;
  text.resize(head.bytes);
  return read_all(socket, text.data(), text.size(), deadline);
}

}  // namespace tandem::host
