// SPDX-License-Identifier: Apache-2.0
#include "host/transport/own_windows.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "base/strings.h"
#include "host/transport/limits.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

constexpr std::int64_t kPage = 4096;

}  // namespace

void OwnWindows::lie_in(MemoryFile& file, std::int64_t first_offset) {
  file_ = &file;
  next_offset_ = round_up(first_offset, kPage);
}

OwnWindows::~OwnWindows() {
  for (auto& [offset, mapping] : mappings_) munmap(mapping.address, mapping.bytes);
}

WindowRange OwnWindows::reserve(int rank, std::int64_t bytes, std::int64_t spare_bytes) {
  if (bytes == 0) return {};
  const std::int64_t rounded = round_up(bytes, kPage);
  const std::int64_t free_bytes = std::max<std::int64_t>(0, available_bytes() - spare_bytes);
  const std::lock_guard guard(mutex_);
  std::byte* address = nullptr;
  errno = ENOMEM;
  if (rounded <= free_bytes) address = allocate(next_offset_, rounded);
  const int error = errno;
  if (address == nullptr) {
    throw Error(ErrorKind::environment,
                cat("rank ", rank, ": window needs ", rounded, " bytes, ", free_bytes,
                    " are available: ", std::strerror(error),
                    "; free memory, raise the limits (ulimit) or use a smaller shape"));
  }
  const WindowRange range{next_offset_, rounded};
  // A page between ranges: rows that leave one end in none.
  next_offset_ += rounded + kPage;
  mappings_[range.offset] = {address, rounded};
  return range;
}

// Null, and errno, if there is no memory.
std::byte* OwnWindows::allocate(std::int64_t offset, std::int64_t bytes) {
  if (file_ == nullptr) {
    void* address =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
  }
  int error = file_->allocate(offset, bytes);
  std::byte* address = nullptr;
  if (error == 0) {
    address = file_->map(offset, bytes);
    error = errno;
  }
  if (address == nullptr) file_->release(offset, bytes);
  errno = error;
  return address;
}

std::byte* OwnWindows::address_of(const WindowRange& range) {
  if (range.bytes == 0) return nullptr;
  const std::lock_guard guard(mutex_);
  return mappings_.at(range.offset).address;
}

void OwnWindows::release(const WindowRange& range) {
  const std::lock_guard guard(mutex_);
  const auto found = mappings_.find(range.offset);
  if (range.bytes == 0 || found == mappings_.end()) return;
  munmap(found->second.address, found->second.bytes);
  if (file_ != nullptr) file_->release(range.offset, range.bytes);
  mappings_.erase(found);
}

std::byte* OwnWindows::find(const RemoteRows& rows) {
  const std::lock_guard guard(mutex_);
  auto next = mappings_.upper_bound(rows.offset);
  if (next == mappings_.begin()) return nullptr;
  const auto& [offset, mapping] = *std::prev(next);
  if (rows.end() > offset + mapping.bytes) return nullptr;
  return mapping.address + (rows.offset - offset);
}

}  // namespace tandem::host
