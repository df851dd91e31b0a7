// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "host/net/socket.h"

namespace tandem::host {

// Memory that processes share by a descriptor: it has no name, and vanishes with the last process
// that holds it. Failures are numbers as in errno: what they mean is the caller's to say.
class MemoryFile {
 public:
  MemoryFile() = default;  // none
  // One that another process has made. None, if it is no memory file or could be cut under a
  // reader.
  explicit MemoryFile(Socket file);
  // A new one, or none and errno.
  static MemoryFile make();

  bool open() const { return file_.open(); }
  int file() const { return file_.file(); }
  std::int64_t bytes() const;
  // Zeroed memory that is there from now on: touching what a file has no room for would be a fault
  // in the middle of a launch. Returns 0 or what went wrong.
  int allocate(std::int64_t offset, std::int64_t bytes);
  // Gives the memory back; who maps it still reads zeros.
  void release(std::int64_t offset, std::int64_t bytes);
  // Null, and errno, if it fails.
  std::byte* map(std::int64_t offset, std::int64_t bytes) const;
  // The same at a place of whole pages, whose own memory goes. False, and errno.
  bool map_at(void* address, std::int64_t offset, std::int64_t bytes) const;

 private:
  Socket file_;
};

}  // namespace tandem::host
