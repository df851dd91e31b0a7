// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

namespace tandem::check {

// Counted by Reference; one thread only.
struct Shared {
  std::uint32_t references = 0;
};

// A counted pointer without atomic operations: a run of the simulator has one thread.
template <typename T>
class Reference {
 public:
  Reference() = default;
  explicit Reference(T* object) : object_(object) { take(); }
  Reference(const Reference& other) : object_(other.object_) { take(); }
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Reference() {
    if (object_ != nullptr && --object_->references == 0) delete object_;
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Reference& a, const Reference& b) { return a.object_ == b.object_; }

 private:
  void take() {
    if (object_ != nullptr) ++object_->references;
  }
  T* object_ = nullptr;
};

}  // namespace tandem::check
