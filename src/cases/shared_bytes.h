// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <span>

#include "base/strings.h"
#include "tandem/error.h"

namespace tandem {

// Memory that forked ranks write and their launcher reads.
class SharedBytes {
 public:
  explicit SharedBytes(std::int64_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    address_ = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (address_ == MAP_FAILED) {
      throw Error(ErrorKind::environment,
                  cat("result: no ", bytes, " bytes of memory for --out; leave it out"));
    }
  }
  ~SharedBytes() {
    if (bytes_ > 0) munmap(address_, static_cast<std::size_t>(bytes_));
  }
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;

  std::uint8_t* data() const { return static_cast<std::uint8_t*>(address_); }
  std::span<const std::uint8_t> bytes() const { return {data(), static_cast<std::size_t>(bytes_)}; }

 private:
  std::int64_t bytes_;
  void* address_ = nullptr;
};

}  // namespace tandem
