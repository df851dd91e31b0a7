// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>

#include "host/link/link.h"
#include "host/neighbours/memory_file.h"
#include "host/transport/transport.h"

namespace tandem::host {

// The window memory of one rank in its own process, which peers reach by links alone.
class OwnWindows final : public WindowMemory {
 public:
  ~OwnWindows() override;
  // From now on, and there are none yet, windows lie in this file, from an offset on.
  void lie_in(MemoryFile& file, std::int64_t first_offset);
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
  std::byte* allocate(std::int64_t offset, std::int64_t bytes);

  MemoryFile* file_ = nullptr;  // null: memory of this process alone
  std::mutex mutex_;
  std::map<std::int64_t, Mapping> mappings_;  // by offset
  std::int64_t next_offset_ = 0;
};

}  // namespace tandem::host
