// SPDX-License-Identifier: Apache-2.0
// One world, very many launches, each compared with its reference: operators, directions of their
// transfers and shapes change from launch to launch, ranks come late at random, now and then an
// operator is made anew.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/world.h"

namespace tandem::differential {

struct Soak {
  const char* transport = "shm";
  int ranks = 3;
  int launches = 2000;
};

// This rank's part of such launches in a world that there is; all ranks are given the same numbers.
// What went wrong, or the empty string.
std::string soak_in(World& world, std::uint64_t seed, int launches);

// What went wrong, or the empty string: a wrong element, a failed rank, or a rank whose resident
// memory grew by 1 MiB or more after the first quarter. Barrier words cross the end of their range
// on the way.
std::string run_soak(const Soak& soak);

}  // namespace tandem::differential
