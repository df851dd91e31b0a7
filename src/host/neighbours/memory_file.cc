// SPDX-License-Identifier: Apache-2.0
#include "host/neighbours/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

namespace tandem::host {

MemoryFile::MemoryFile(Socket file) {
  const int seals = fcntl(file.file(), F_GET_SEALS);
  if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0) file_ = std::move(file);
}

MemoryFile MemoryFile::make() {
  Socket file(memfd_create("tandem-window", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.open()) return {};
  fcntl(file.file(), F_ADD_SEALS, F_SEAL_SHRINK);  // no peer can pull memory away under a reader
  return MemoryFile(std::move(file));
}

std::int64_t MemoryFile::bytes() const {
  struct stat status {};
  return fstat(file_.file(), &status) == 0 ? status.st_size : 0;
}

int MemoryFile::allocate(std::int64_t offset, std::int64_t bytes) {
  return posix_fallocate(file_.file(), offset, bytes);
}

void MemoryFile::release(std::int64_t offset, std::int64_t bytes) {
  fallocate(file_.file(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
}

std::byte* MemoryFile::map(std::int64_t offset, std::int64_t bytes) const {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.file(), offset);
  return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
}

bool MemoryFile::map_at(void* address, std::int64_t offset, std::int64_t bytes) const {
  return mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_.file(),
              offset) != MAP_FAILED;
}

}  // namespace tandem::host
