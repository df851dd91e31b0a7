// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/checked.h"

namespace tandem::gemm {

inline constexpr std::size_t kCacheLine = 64;

// Memory for `size` trivial elements, aligned to a cache line and not initialised. Large buffers
// ask for huge pages: fewer page faults while packing, fewer TLB misses in the kernels.
template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::int64_t size) { grow(size); }
  ~AlignedBuffer() { release(); }
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        alignment_(other.alignment_),
        size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(alignment_, other.alignment_);
    std::swap(size_, other.size_);
    return *this;
  }

  // Makes room for `size` elements; what was there is lost if the buffer is too small.
  void grow(std::int64_t size) {
    if (size <= size_) return;
    const std::int64_t bytes = tandem::multiply({size, static_cast<std::int64_t>(sizeof(T))});
    release();
    const auto alignment = bytes >= kHugePagesFrom ? kHugePage : kCacheLine;
    data_ = static_cast<T*>(
        ::operator new (static_cast<std::size_t>(bytes), std::align_val_t{alignment}));
    alignment_ = alignment;
    size_ = size;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    // A refusal costs speed only.
    if (alignment == kHugePage) {
      static_cast<void>(madvise(data_, static_cast<std::size_t>(bytes), MADV_HUGEPAGE));
    }
#endif
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t size() const { return size_; }

 private:
  void release() {
    if (data_ != nullptr) ::operator delete (data_, std::align_val_t{alignment_});
    data_ = nullptr;
    size_ = 0;
  }

  static constexpr std::size_t kHugePage = std::size_t{1} << 21;
  static constexpr std::int64_t kHugePagesFrom = std::int64_t{1} << 22;

  T* data_ = nullptr;
  std::size_t alignment_ = kCacheLine;
  std::int64_t size_ = 0;
};

}  // namespace tandem::gemm
