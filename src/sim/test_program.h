// SPDX-License-Identifier: Apache-2.0
// Small programs for tests: kernels as functions, run by every core of their kind.
#pragma once

#include <functional>
#include <vector>

#include "sim/machine.h"
#include "sim/observer.h"

namespace tandem::sim {

struct TestKernels {
  std::function<void(CubeCore&)> cube = [](CubeCore&) {};
  std::function<void(VectorCore&)> vector = [](VectorCore&) {};
};

inline constexpr std::int64_t kTestBytes = 4096;  // of every buffer

inline Program make_program(int ranks, int blocks, const TestKernels& kernels) {
  Launch launch;
  launch.blocks = blocks;
  for (BufferExtent& extent : launch.extents) extent = {.bytes = kTestBytes};
  launch.extents[static_cast<int>(Buffer::window_scale)].window_offset = kTestBytes;
  launch.extents[static_cast<int>(Buffer::c)].bytes = 0;  // else all of it must be written
  launch.ub_bytes = kTestBytes;
  launch.epochs = 16;
  launch.cube = kernels.cube;
  launch.vector = kernels.vector;
  Program program;
  for (int rank = 0; rank < ranks; ++rank) program.ranks.push_back({launch, nullptr});
  program.launches = 1;
  program.values = false;
  return program;
}

inline View bytes_of(int rank, Buffer buffer, std::int64_t offset, std::int64_t count) {
  return {rank, buffer, offset, 1, count, count};
}
inline UbTensor ub_floats(std::int64_t offset, std::int64_t count) {
  return {offset, 1, count, count * 4, 4};
}

// Keeps what the machine itself complains about.
class Complaints final : public Observer {
 public:
  void violation(const Finding& finding) override { findings.push_back(finding); }
  int count(FindingCode code) const {
    int found = 0;
    for (const Finding& finding : findings) found += finding.code == code ? 1 : 0;
    return found;
  }
  std::vector<Finding> findings;
};

}  // namespace tandem::sim
