// SPDX-License-Identifier: Apache-2.0
// Small kernels with one error each, and their sound twins.
#pragma once

#include <functional>
#include <string>

#include "check/run.h"
#include "machine/core.h"
#include "sim/machine.h"

namespace tandem {

// One block a rank, with buffers of `bytes` where a kernel needs them.
struct Planted {
  int ranks = 2;
  int launches = 1;
  std::int64_t bytes = 256;
  std::uint64_t epochs = 0;  // of a launch
  std::function<void(CubeCore&)> cube = [](CubeCore&) {};
  std::function<void(VectorCore&)> vector;
};

inline sim::Program program_of(const Planted& planted) {
  sim::Program program;
  program.values = false;
  program.launches = planted.launches;
  for (int rank = 0; rank < planted.ranks; ++rank) {
    Launch launch;
    launch.blocks = 1;
    launch.ub_bytes = 4096;
    launch.epochs = planted.epochs;
    for (Buffer buffer : {Buffer::a, Buffer::a_scale, Buffer::window_data}) {
      launch.extents[static_cast<std::size_t>(buffer)].bytes = planted.bytes;
    }
    launch.cube = planted.cube;
    launch.vector = planted.vector;
    program.ranks.push_back({launch, nullptr});
  }
  return program;
}

// The finding with this code, or null.
inline const Finding* find_code(const check::RunReport& report, FindingCode code) {
  for (const Finding& finding : report.findings) {
    if (finding.code == code) return &finding;
  }
  return nullptr;
}

inline std::string text_of(const check::RunReport& report) {
  std::string text;
  for (const Finding& finding : report.findings) text += to_text(finding) + "\n";
  return text;
}

// `rows` rows of 16 bytes from row `first` of a buffer.
inline View rows_in(int rank, Buffer buffer, std::int64_t first, std::int64_t rows) {
  return {.rank = rank,
          .buffer = buffer,
          .offset = first * 16,
          .rows = rows,
          .row_bytes = 16,
          .pitch = 16};
}

}  // namespace tandem
