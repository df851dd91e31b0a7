// SPDX-License-Identifier: Apache-2.0
// Runs operators in worlds and compares every element with the reference. Cases of one world run
// one after the other in it; every rank computes its own reference.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compare.h"
#include "inputs.h"
#include "tandem/world.h"

namespace tandem::differential {

// The operands of all ranks and the reference of one: made once for all cases of a data key.
class Data {
 public:
  Data(const Case& one, int rank);

  const Inputs& inputs() const { return inputs_; }
  const Reference& reference() const { return reference_; }
  bool is_finite() const { return reference_.wants_exact; }

 private:
  Inputs inputs_;
  Reference reference_;
};

// The reference of `rank` from the given operands. `wants_exact` asks for the values that the
// error bound needs.
Reference make_reference(const Problem& problem, const Inputs& inputs, int rank, bool wants_exact);

// Keeps the last data that was asked for.
class DataCache {
 public:
  const Data& get(const Case& one, int rank);

 private:
  std::string key_;
  std::unique_ptr<Data> data_;
};

// Launches an operator and compares its C. The empty string if all is well.
std::string launch_and_compare(Operator& op, const Origin& origin, const Data& data,
                               Output& output);

struct Options {
  int launches = 2;  // of each operator
  std::int64_t timeout_ms = 30000;
  std::uint64_t epoch_start = 0;
  // This process is one rank, for cases of so many ranks; the others are started elsewhere.
  std::optional<Membership> membership;
  std::function<void(std::int64_t done)> progress;  // called in this process, by rank 0's cases
};

struct Summary {
  std::int64_t cases = 0;     // that ran on all ranks
  std::int64_t elements = 0;  // compared
  std::vector<std::string> failures;

  void add(const Summary& other);
  // The first few failures, one a line.
  std::string text() const;
};

// Runs the cases in as few worlds as their keys allow.
Summary run_cases(std::span<const Case> cases, const Options& options = {});

// A transport's name may end with "_shared": its ranks, on one host, share memory beside the link.
// What World::spawn() understands in its place.
WorldOptions resolve_transport(WorldOptions options);

// Whether this build has the transport.
bool is_built(std::string_view transport);

// Runs `main` on every rank and returns what failed: the texts that ranks returned, and how ranks
// ended that failed. Empty if every rank returned "".
std::string run_world(const WorldOptions& options, const std::function<std::string(World&)>& main);

}  // namespace tandem::differential
