// SPDX-License-Identifier: Apache-2.0
#include "host/transport/threads.h"

#include <sys/mman.h>

#include <map>
#include <mutex>

#include "base/strings.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

class ThreadsTransport : public Transport {
 public:
  explicit ThreadsTransport(int ranks) : ranks_(ranks), control_(new ControlArea()) {}
  ~ThreadsTransport() override {
    for (auto& [key, mapping] : mappings_) munmap(mapping.address, mapping.bytes);
  }

  std::string_view name() const override { return "threads"; }
  int ranks() const override { return ranks_; }
  ControlArea& control() override { return *control_; }

  WindowRange reserve(int rank, std::int64_t bytes) override {
    if (bytes == 0) return {};
    void* address =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) {
      throw Error(ErrorKind::environment, cat("rank ", rank, ": window of ", bytes,
                                              " bytes cannot be allocated; use a smaller shape or "
                                              "raise the memory limit"));
    }
    std::lock_guard lock(mutex_);
    const WindowRange range{next_offset_, bytes};
    next_offset_ += bytes;
    mappings_[{rank, range.offset}] = {static_cast<std::byte*>(address), bytes};
    return range;
  }

  std::byte* map(int owner, const WindowRange& range) override {
    if (range.bytes == 0) return nullptr;
    std::lock_guard lock(mutex_);
    return mappings_.at({owner, range.offset}).address;
  }

  void unmap(int, std::byte*, const WindowRange&) override {}

  void release(int rank, const WindowRange& range) override {
    std::lock_guard lock(mutex_);
    const auto found = mappings_.find({rank, range.offset});
    if (found == mappings_.end()) return;
    munmap(found->second.address, found->second.bytes);
    mappings_.erase(found);
  }

 private:
  struct Mapping {
    std::byte* address = nullptr;
    std::int64_t bytes = 0;
  };

  int ranks_;
  std::unique_ptr<ControlArea> control_;
  std::mutex mutex_;
  std::map<std::pair<int, std::int64_t>, Mapping> mappings_;
  std::int64_t next_offset_ = 0;
};

}  // namespace

std::unique_ptr<Transport> make_threads_transport(int ranks) {
  return std::make_unique<ThreadsTransport>(ranks);
}

}  // namespace tandem::host
