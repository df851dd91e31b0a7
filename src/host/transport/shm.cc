// SPDX-License-Identifier: Apache-2.0
// Windows are anonymous memory files, one per rank, made before the ranks are forked and inherited
// by all: nothing has a name, and the memory vanishes with the last process.
#include "host/transport/shm.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "base/checked.h"
#include "base/strings.h"
#include "host/neighbours/memory_file.h"
#include "host/transport/limits.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

constexpr std::int64_t kPage = 4096;

[[noreturn]] void throw_environment(const std::string& what, int error) {
  throw Error(ErrorKind::environment,
              cat("shared memory: ", what, ": ", std::strerror(error),
                  "; free memory, raise the limits (ulimit) or use --transport threads"));
}

class ShmTransport : public Transport {
 public:
  explicit ShmTransport(int ranks) : ranks_(ranks), ends_(ranks, 0) {
    check_descriptors(cat("shared memory of ", ranks, " ranks"), ranks);
    void* address = mmap(nullptr, sizeof(ControlArea), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) throw_environment("control area", errno);
    control_ = new (address) ControlArea();
    for (int rank = 0; rank < ranks; ++rank) {
      files_.push_back(MemoryFile::make());
      if (!files_.back().open()) throw_environment(cat("memory file of rank ", rank), errno);
    }
  }
  ~ShmTransport() override { munmap(control_, sizeof(ControlArea)); }

  std::string_view name() const override { return "shm"; }
  int ranks() const override { return ranks_; }
  ControlArea& control() override { return *control_; }

  WindowRange reserve(int rank, std::int64_t bytes) override {
    if (bytes == 0) return {};
    const std::lock_guard guard(mutex_);  // a rank may be in several groups
    const WindowRange range{ends_[rank], round_up(bytes, kPage)};
    // The kernel may overcommit, so look at what is free.
    const std::int64_t free_bytes = available_bytes();
    const int error =
        range.bytes > free_bytes ? ENOMEM : files_[rank].allocate(range.offset, range.bytes);
    if (error != 0) {
      throw_environment(cat("rank ", rank, ": window needs ", range.bytes, " bytes, ", free_bytes,
                            " are available"),
                        error);
    }
    ends_[rank] += range.bytes;
    return range;
  }

  std::byte* map(int owner, const WindowRange& range) override {
    if (range.bytes == 0) return nullptr;
    std::byte* address = files_[owner].map(range.offset, range.bytes);
    if (address == nullptr) {
      throw_environment(cat("window of rank ", owner, " (", range.bytes, " bytes)"), errno);
    }
    return address;
  }

  void unmap(int, std::byte* address, const WindowRange& range) override {
    if (range.bytes > 0) munmap(address, range.bytes);
  }

  void release(int rank, const WindowRange& range) override {
    if (range.bytes == 0) return;
    files_[rank].release(range.offset, range.bytes);
  }

 private:
  int ranks_;
  ControlArea* control_ = nullptr;
  std::vector<MemoryFile> files_;
  std::mutex mutex_;
  std::vector<std::int64_t> ends_;  // of this process's own rank only
};

}  // namespace

std::unique_ptr<Transport> make_shm_transport(int ranks) {
  return std::make_unique<ShmTransport>(ranks);
}

}  // namespace tandem::host
