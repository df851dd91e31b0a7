// SPDX-License-Identifier: Apache-2.0
// Windows are anonymous memory files, one per rank, made before the ranks are forked and inherited
// by all: nothing has a name, and the memory vanishes with the last process.
#include "host/transport/shm.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "base/checked.h"
#include "base/strings.h"
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
      const int file = memfd_create("tandem-window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
      if (file < 0) {
        const int error = errno;
        close_files();
        throw_environment(cat("memory file of rank ", rank), error);
      }
      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK);  // no peer can pull memory away under a reader
      files_.push_back(file);
    }
  }
  ~ShmTransport() override {
    close_files();
    munmap(control_, sizeof(ControlArea));
  }

  std::string_view name() const override { return "shm"; }
  int ranks() const override { return ranks_; }
  ControlArea& control() override { return *control_; }

  WindowRange reserve(int rank, std::int64_t bytes) override {
    if (bytes == 0) return {};
    const std::lock_guard guard(mutex_);  // a rank may be in several groups
    const WindowRange range{ends_[rank], round_up(bytes, kPage)};
    // Touching memory that the file has no room for would be a fault in the middle of a launch;
    // allocation makes it an error here. The kernel may also overcommit, so look at what is free.
    const std::int64_t free_bytes = available_bytes();
    const int error = range.bytes > free_bytes
                          ? ENOMEM
                          : posix_fallocate(files_[rank], range.offset, range.bytes);
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
    void* address =
        mmap(nullptr, range.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, files_[owner], range.offset);
    if (address == MAP_FAILED) {
      throw_environment(cat("window of rank ", owner, " (", range.bytes, " bytes)"), errno);
    }
    return static_cast<std::byte*>(address);
  }

  void unmap(int, std::byte* address, const WindowRange& range) override {
    if (range.bytes > 0) munmap(address, range.bytes);
  }

  void release(int rank, const WindowRange& range) override {
    if (range.bytes == 0) return;
    fallocate(files_[rank], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, range.offset, range.bytes);
  }

 private:
  void close_files() {
    for (int file : files_) close(file);
    files_.clear();
  }

  int ranks_;
  ControlArea* control_ = nullptr;
  std::vector<int> files_;
  std::mutex mutex_;
  std::vector<std::int64_t> ends_;  // of this process's own rank only
};

}  // namespace

std::unique_ptr<Transport> make_shm_transport(int ranks) {
  return std::make_unique<ShmTransport>(ranks);
}

}  // namespace tandem::host
