// SPDX-License-Identifier: Apache-2.0
// A rank that runs small kernels on the host machine, the same that runs the operators. The kernels
// time themselves: the costs of a device with shared workers are measured with them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cases/inputs.h"
#include "gemm/tile_product.h"
#include "host/launch_site.h"
#include "machine/launch.h"
#include "tandem/world.h"

namespace tandem {

// Of one thing that was done many times, in nanoseconds.
using Samples = std::vector<double>;

inline double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What is exceeded by three quarters of the samples: other work on the machine only adds time, and
// the shortest of many is luck.
double lower_quartile(Samples samples);
double median(Samples samples);

class ProbeRank {
 public:
  static constexpr std::int64_t kRows = 864;  // of A; six blocks of the largest tile
  static constexpr std::int64_t kColumns = 2048;
  static constexpr std::int64_t kDepths[] = {256, 1024, 2048};  // K segments of B
  static constexpr std::int64_t kDepth = 256 + 1024 + 2048;
  static constexpr std::int64_t kBytes = std::int64_t{24} << 20;  // of C and of staging
  static constexpr std::int64_t kWindowBytes = kBytes / 2;        // shared memory may be scarce

  // Collective. Draws and packs the operands.
  explicit ProbeRank(World& world);
  ~ProbeRank();

  World& world() { return world_; }
  int rank() const { return world_.rank(); }

  struct Kernel {
    int blocks = 1;
    SumOrder order = SumOrder::panel;
    OutputType type = OutputType::bf16;  // of C, staging and the window
    std::uint64_t epochs = 0;
    std::function<void(CubeCore&)> cube;
    std::function<void(VectorCore&)> vector;
  };
  // Collective: one launch on all ranks at once. Returns the nanoseconds that it took here.
  double run(const Kernel& kernel);
  // A launch that is made once and run `times` times, each after a meeting of all ranks.
  Samples run_often(const Kernel& kernel, int times);

  // A number in a rank's window, behind what the kernels see.
  double& stamp(int rank) const;
  // Reads so much other memory that no cache holds what was used before.
  void forget();
  // Rows of A with the k of a segment.
  Fragment rows_of_a(int segment, Slice rows) const;

 private:
  Launch launch_of(const Kernel& kernel) const;

  World& world_;
  host::Windows windows_;
  std::unique_ptr<MxRows> a_;
  std::unique_ptr<gemm::PackedWeights> weights_;
  std::vector<std::byte> c_;
  std::vector<std::byte> staging_;
  std::vector<std::uint64_t> other_;
  std::uint64_t digest_ = 0;
  host::Bindings bindings_;
};

}  // namespace tandem
