// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>

#include "host/link/link.h"
#include "host/transport/transport.h"

namespace tandem::host {

// The window memory of one rank in its own process, which peers reach by links alone.
class OwnWindows final : public WindowMemory {
 public:
  ~OwnWindows() override;
  // As those of Transport; so many bytes must be left besides.
  WindowRange reserve(int rank, std::int64_t bytes, std::int64_t spare_bytes = 0);
  std::byte* address_of(const WindowRange& range);
  void release(const WindowRange& range);
  std::byte* find(const RemoteRows& rows) override;

 private:
  struct Mapping {
    std::byte* address = nullptr;
    std::int64_t bytes = 0;
  };
  std::mutex mutex_;
  std::map<std::int64_t, Mapping> mappings_;  // by offset
  std::int64_t next_offset_ = 0;
};

}  // namespace tandem::host
