// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "check/mutants/mutation.h"
#include "machine/recording.h"
#include "sim/machine.h"

namespace tandem::check {

// Makes one recorded call, from the place where it was recorded.
void perform(CubeCore& core, const VerbRecord& call);
void perform(VectorCore& core, const VerbRecord& call);

// Makes the cores of `program` repeat recorded calls instead of running their kernels: in launch l
// those of recordings[l]. The program may be run many times.
void play_back(std::shared_ptr<const std::vector<WorldRecording>> recordings,
               sim::Program& program);

}  // namespace tandem::check
