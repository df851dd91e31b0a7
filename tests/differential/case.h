// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/problem.h"

namespace tandem::differential {

// What the operands hold. extreme: normal values with special codes and scales sprinkled over
// single rows, columns and segments.
enum class InputKind : std::uint8_t { normal, coded, extreme };

std::string_view to_string(InputKind kind);

// One run of an operator that is compared with its reference.
struct Case {
  Problem problem;
  std::string transport = "shm";
  InputKind inputs = InputKind::normal;
  int workers = 1;
  std::uint64_t seed = 1;
};

// The operator and every option off its default, spelled as the command line does.
std::string description(const Case& one);

// The command that runs this case again: the test that is running, narrowed to the case's seed
// where it goes over many.
std::string reproduce(const Case& one);

// Cases with equal keys have the same operands and the same reference: everything that decides
// them, and nothing of how the operator gets there.
std::string data_key(const Case& one);

// Cases with equal keys can share one world.
std::string world_key(const Case& one);

}  // namespace tandem::differential
