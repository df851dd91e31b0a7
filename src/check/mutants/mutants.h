// SPDX-License-Identifier: Apache-2.0
// The errors that the checker must find, and correct programs about which it must say nothing: one
// row each, in tables/.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/device.h"
#include "base/finding.h"
#include "check/mutants/mutation.h"
#include "sim/machine.h"
#include "tandem/problem.h"

namespace tandem::check {

// What runs. Every row states its own: an error may need a certain shape or number of launches.
struct Configuration {
  Problem problem;
  std::string_view device_name = "host";
  int launch_count = 2;
  sim::Profile profile;
  std::optional<int> straggler;  // a rank that goes on only where nothing else can
  std::function<void(Device&)> device_change;

  Configuration shape(std::int64_t m, std::int64_t n, std::int64_t k) const;
  Configuration slots(int count) const;
  Configuration launches(int count) const;
  Configuration on_device(std::string_view name) const;
  Configuration with(const std::function<void(Problem&)>& change) const;
};

// A small case of an operator, with more than one tile, round and launch. Shapes that cut unevenly
// stand in the rows that need them.
Configuration to_all(int ranks, int blocks, int tiles);
Configuration gather(int ranks, int blocks, int tiles);
Configuration get_ring(int ranks, int blocks, int tiles, int slots);
Configuration scatter(int ranks, int blocks, int tiles);
Configuration scatter_shared(int ranks, int blocks, int tiles);

struct Mutant {
  enum class Kind {
    error,           // the checker reports `code`
    refusal,         // the planner refuses it with the words of `object`
    control,         // correct although it looks wrong: silence, or `code` if there is an object
    not_expressible  // the machine's interface has no words for it: `reason`
  };
  std::string_view id;  // "A01"
  std::string_view title;
  Kind kind = Kind::error;
  Configuration config;
  Mutation mutation;
  FindingCode code = FindingCode::deadlock;
  std::string_view object;    // words of the finding's object or explanation
  std::string_view sites[2];  // words of its two places; of one, where it has no other
  std::string_view reason;
};

using Mutants = std::vector<Mutant>;

// In the order of the groups.
const Mutants& all_mutants();
std::string_view to_string(Mutant::Kind kind);

// A row by its id, also by its name in upstream's list: "A05", "upstream:A5".
const Mutant* find_mutant(std::string_view name);
// Names of upstream's errors, and the rows that stand for them.
struct UpstreamError {
  std::string_view name;
  std::string_view title;
  std::string_view mutant;
};
const std::vector<UpstreamError>& upstream_errors();

// One table after the other.
Mutants joined(const std::vector<Mutants>& tables);
// The tables of the groups, in tables/.
Mutants flag_mutants();
Mutants barrier_mutants();
Mutants transfer_mutants();
Mutants pipe_mutants();
Mutants memory_mutants();
Mutants shape_mutants();
Mutants launch_mutants();
Mutants lent_mutants();
Mutants controls();
Mutants inexpressible();

}  // namespace tandem::check
